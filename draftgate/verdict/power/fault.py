"""A fault that a simulated candidate carries, and whether a cause names it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from draftgate.measure.exact import ExactMetrics
from draftgate.verdict.cause import Factor, Factors


class FaultKind(StrEnum):
    """``none``: an A/A gate. ``sleep``: longer steps. ``acceptance``: fewer tokens accepted."""

    NONE = "none"
    SLEEP = "sleep"
    ACCEPTANCE = "acceptance"


class FaultError(Exception):
    """A fault that cannot be planted; says why."""


@dataclass(frozen=True)
class Fault:
    """``size``: of a sleep, its share of the step; of acceptance, tokens lost in the cell."""

    kind: FaultKind = FaultKind.NONE
    size: float = 0.0

    def __post_init__(self) -> None:
        if self.kind is FaultKind.NONE:
            return
        if not (math.isfinite(self.size) and self.size > 0):
            raise FaultError(f"a {self.kind} of size {self.size} is none: give a positive --size")
        if self.kind is FaultKind.ACCEPTANCE and self.size != int(self.size):
            raise FaultError(f"acceptance is lost in whole tokens, not {self.size}: --size 1")

    @property
    def log_slowdown(self) -> float:
        """What is added to the log of every step's time."""
        return math.log1p(self.size) if self.kind is FaultKind.SLEEP else 0.0

    def spoil(self, exact: ExactMetrics) -> ExactMetrics:
        """The counts of a faulty engine: a lost token costs a step of its own."""
        if self.kind is not FaultKind.ACCEPTANCE or exact.accepted_per_position is None:
            return exact
        lost = int(self.size)
        *first, last = exact.accepted_per_position
        if lost > last:
            raise FaultError(f"the simulated cell has no {lost} tokens to lose, at most {last}")
        assert exact.accepted_tokens is not None
        return exact.model_copy(
            update={
                "accepted_tokens": exact.accepted_tokens - lost,
                "accepted_per_position": (*first, last - lost),
                "decode_steps": exact.decode_steps + lost,
            }
        )

    def named_by(self, factors: Factors) -> bool:
        """Whether the factor that moved is the one that was planted."""
        if self.kind is FaultKind.ACCEPTANCE:
            return Factor.ACCEPTANCE in factors.moved
        return Factor.STEP_TIME in factors.moved and Factor.ACCEPTANCE not in factors.moved
