"""A fault planted in an engine on purpose, so that the gate can be seen to find it."""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import Field, model_validator

from draftgate.engine.errors import SpecError
from draftgate.engine.records import Record

FaultKind = Literal["sleep", "drafter-twice", "k", "noisy-head", "early-stop"]
FAULT_KINDS: tuple[FaultKind, ...] = get_args(FaultKind)


class Fault(Record):
    """What the engine child does wrong (`draftgate.engine.planting`).

    - ``sleep``: each step lasts longer by ``size`` of itself.
    - ``drafter-twice``: the proposer does its work twice; its drafts stay the same.
    - ``k``: `num_speculative_tokens` is multiplied by ``size``, at least 1.
    - ``noisy-head``: the draft model's matrices get normal noise of ``size`` standard deviations
      of theirs.
    - ``early-stop``: the output limit is cut by the share ``size``.
    """

    kind: FaultKind
    size: float = Field(gt=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _size_fits(self) -> Fault:
        if self.kind == "early-stop" and self.size >= 1:
            raise ValueError("early-stop takes the share to cut, below 1")
        if self.kind == "k" and self.size == 1:
            raise ValueError("k takes a factor other than 1, such as 0.5 or 2")
        return self

    def concerns(self, speculative_config: dict[str, Any] | None) -> bool:
        """Whether an engine with this configuration has the part that is to go wrong."""
        config = speculative_config or {}
        if self.kind in ("drafter-twice", "k"):
            return bool(config)
        if self.kind == "noisy-head":
            return isinstance(config.get("model"), str)
        return True

    def k(self, k: int) -> int:
        """The number of drafted tokens in place of ``k``.

        Raises SpecError where rounding leaves it as it is.
        """
        planted = max(1, round(k * self.size))
        if planted == k:
            raise SpecError(f"fault k:{self.size:g}: it leaves k={k} as it is; give another factor")
        return planted

    def max_tokens(self, limit: int) -> int:
        """The output limit in place of ``limit``."""
        if self.kind != "early-stop":
            return limit
        return max(1, round(limit * (1 - self.size)))
