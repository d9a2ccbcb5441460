"""What one round on one engine yields; written here, read by every room to the right.

Times are seconds on the child's monotonic clock; token counts are engine truth, not recounted text.
"""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator


class Record(BaseModel):
    """Base: frozen, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class SpecCounters(Record):
    """vLLM's own counters over a round: the scheduler's, which `LLM.get_metrics()` reports too.

    Steps with drafts only.

    ``per_position[i]``: drafts whose token ``i`` was accepted (marginal), length k.
    """

    drafts: int
    draft_tokens: int
    accepted_tokens: int
    per_position: tuple[int, ...]


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


class RoundRecord(Record):
    """One timed pass over a cell's prompts on one engine.

    ``wall_s``: first request added to last request finished. ``steps``: engine steps in between.
    ``counters`` is None where speculative decoding is off.
    """

    batch_size: int
    wall_s: float
    steps: int
    requests: tuple[RequestRecord, ...]
    counters: SpecCounters | None = None

    @property
    def generated_tokens(self) -> int:
        """Output tokens of all requests."""
        return sum(len(r.output_token_ids) for r in self.requests)
