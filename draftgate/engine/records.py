"""What one round on one engine yields; written here, read by every room to the right.

Times are seconds on the child's monotonic clock; token counts are engine truth, not recounted text.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator


class Record(BaseModel):
    """Base: frozen, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def first_difference(tokens: Sequence[int], others: Sequence[int]) -> int | None:
    """Index of the first token that differs, or at which one of the two ends; None where equal."""
    shared = min(len(tokens), len(others))
    index = next((i for i in range(shared) if tokens[i] != others[i]), shared)
    return None if index == len(tokens) == len(others) else index


class SpecCounters(Record):
    """vLLM's own counters over a round: the scheduler's, which `LLM.get_metrics()` reports too.

    Steps with drafts only.

    ``per_position[i]``: drafts whose token ``i`` was accepted (marginal), length k.
    """

    drafts: int
    draft_tokens: int
    accepted_tokens: int
    per_position: tuple[int, ...]

    def since(self, before: SpecCounters) -> SpecCounters:
        """What was counted after ``before``, an earlier state of the same counters."""
        return SpecCounters(
            drafts=self.drafts - before.drafts,
            draft_tokens=self.draft_tokens - before.draft_tokens,
            accepted_tokens=self.accepted_tokens - before.accepted_tokens,
            per_position=tuple(
                a - b for a, b in zip(self.per_position, before.per_position, strict=True)
            ),
        )


class RequestRecord(Record):
    """One request of a round.

    ``prompt_token_ids``: with the chat template; empty in records of schema 1, and in a replicated
    prompt's further copies, whose first copy (same ``prompt_id``) has them. ``emitted[j]``: tokens
    the engine returned for this request in its ``j``-th output step (the first is the prefill's).
    ``drafted``/``accepted``: one entry a verification that had drafts (vLLM
    `per_request_spec_decode_metrics="detailed"`); empty where speculative decoding is off.
    """

    prompt_id: str
    prompt_tokens: int
    output_token_ids: tuple[int, ...]
    finish_reason: str | None
    ttft_s: float
    e2e_s: float
    emitted: tuple[int, ...]
    drafted: tuple[int, ...] = ()
    accepted: tuple[int, ...] = ()
    prompt_token_ids: tuple[int, ...] = ()

    @model_validator(mode="after")
    def _whole_prompt(self) -> Self:
        if self.prompt_token_ids and len(self.prompt_token_ids) != self.prompt_tokens:
            raise ValueError(
                f"prompt {self.prompt_id!r} has {len(self.prompt_token_ids)} token ids "
                f"and prompt_tokens {self.prompt_tokens}"
            )
        return self


class StageSteps(Record):
    """Where a round's time went: columns, one entry an engine step that ran the model.

    ``requests`` in the step; ``batched_tokens`` the target computed; of these ``prefill_tokens``
    were prompt tokens and ``drafted_tokens`` drafts to verify; ``kv_tokens`` lay in the cache
    before the step, all requests together. ``step_ms``: from the step's start in the model runner
    to that of the next. ``draft_ms`` + ``verify_ms`` (forward pass and logits) + ``sample_ms`` +
    ``overhead_ms`` (everything else that has a name) make the step, but for what no scope covers.

    ``scopes_ms``: each scope's own time over the round, nested scopes left out; what none covers
    is ``unattributed``. ``clock``: ``host`` where the host computes, ``cuda_event`` on a device,
    whose times are the device's own.
    """

    clock: Literal["host", "cuda_event"]
    requests: tuple[int, ...]
    batched_tokens: tuple[int, ...]
    prefill_tokens: tuple[int, ...]
    kv_tokens: tuple[int, ...]
    drafted_tokens: tuple[int, ...]
    step_ms: tuple[float, ...]
    draft_ms: tuple[float, ...]
    verify_ms: tuple[float, ...]
    sample_ms: tuple[float, ...]
    overhead_ms: tuple[float, ...]
    scopes_ms: dict[str, float]

    @classmethod
    def joined(cls, parts: Sequence[StageSteps]) -> StageSteps:
        """One after another, of one clock; not empty."""
        scopes = {name for part in parts for name in part.scopes_ms}
        columns = cls.model_fields.keys() - {"clock", "scopes_ms"}
        return cls(
            clock=parts[0].clock,
            **{
                name: tuple(chain.from_iterable(getattr(p, name) for p in parts))
                for name in columns
            },
            scopes_ms={n: sum(p.scopes_ms.get(n, 0.0) for p in parts) for n in sorted(scopes)},
        )


class EngineMemory(Record):
    """What an engine holds once it stands; bytes of its first worker.

    ``kv_cache_bytes``: the cache's tensors, draft layers among them, made for ``kv_blocks`` blocks
    of ``block_size`` tokens. ``weight_bytes``: parameters of target and draft, shared ones once;
    ``device_bytes``: allocated on the device; both None on CPU, where kernels repack the weights.
    ``rss_bytes``: resident in the host.
    """

    kv_cache_bytes: int
    kv_blocks: int
    block_size: int
    kv_cache_dtype: str
    weight_bytes: int | None
    rss_bytes: int
    device_bytes: int | None = None

    @property
    def kv_bytes_per_token(self) -> float:
        """Cache bytes of one token of one request, over all layers of this worker."""
        return self.kv_cache_bytes / (self.kv_blocks * self.block_size)


class RoundRecord(Record):
    """One timed pass over a cell's prompts on one engine.

    ``wall_s``: first request added to last request finished. ``steps``: engine steps in between.
    ``counters`` is None where speculative decoding is off, ``stages`` where the stage timer is.
    """

    batch_size: int
    wall_s: float
    steps: int
    requests: tuple[RequestRecord, ...]
    counters: SpecCounters | None = None
    stages: StageSteps | None = None

    @property
    def generated_tokens(self) -> int:
        """Output tokens of all requests."""
        return sum(len(r.output_token_ids) for r in self.requests)
