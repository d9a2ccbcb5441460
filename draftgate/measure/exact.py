"""What is deterministic about a round, as integers and a hash; compared with ``==``."""

from __future__ import annotations

from draftgate.engine.records import Record, RoundRecord
from draftgate.measure import metrics


class ExactMetrics(Record):
    """Deterministic for given weights, prompts, vLLM and ISA class (greedy, fixed batch size).

    Ratios are not stored: they follow from these integers. The four acceptance fields are None
    where speculative decoding is off. ``decode_*`` leave out each request's first output step.
    """

    outputs_hash: str
    output_tokens: int
    decode_tokens: int
    decode_steps: int
    num_drafts: int | None = None
    draft_tokens: int | None = None
    accepted_tokens: int | None = None
    accepted_per_position: tuple[int, ...] | None = None

    @classmethod
    def of(cls, record: RoundRecord) -> ExactMetrics:
        """The exact metrics of one round."""
        counters = record.counters
        acceptance = (
            {}
            if counters is None
            else {
                "num_drafts": counters.drafts,
                "draft_tokens": counters.draft_tokens,
                "accepted_tokens": counters.accepted_tokens,
                "accepted_per_position": counters.per_position,
            }
        )
        return cls.model_validate(
            {
                "outputs_hash": metrics.outputs_hash(record),
                "output_tokens": record.generated_tokens,
                "decode_tokens": metrics.decode_tokens(record),
                "decode_steps": metrics.decode_steps(record),
                **acceptance,
            }
        )

    @property
    def acceptance_length(self) -> float | None:
        """1 + accepted / drafts."""
        if not self.num_drafts or self.accepted_tokens is None:
            return None
        return 1 + self.accepted_tokens / self.num_drafts

    @property
    def per_position_acceptance_rate(self) -> tuple[float, ...] | None:
        """Share of drafts whose token i was accepted (marginal)."""
        if not self.num_drafts or self.accepted_per_position is None:
            return None
        return tuple(count / self.num_drafts for count in self.accepted_per_position)

    @property
    def tokens_per_step(self) -> float | None:
        """Decode tokens / decode steps."""
        return self.decode_tokens / self.decode_steps if self.decode_steps else None
