"""What the rules read of a measured cell, whoever measured it: an engine, a file, a simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from draftgate.measure.agreement import Agreement
from draftgate.measure.exact import ExactMetrics
from draftgate.measure.per_prompt import Ratios, by_prompt
from draftgate.measure.record import Measurement
from draftgate.measure.sessions import Sessions, median_of


@dataclass(frozen=True)
class CellFacts:
    """``timed``: samples of each timed metric. ``agreement``: with the control, if it has one.

    ``repeats_tokens``: whether equal software writes equal tokens there; where it does not,
    acceptance is compared ``by_prompt`` (empty without drafts). ``requests``: of a round.
    """

    cell: str
    workload_hash: str
    exact: ExactMetrics
    timed: Mapping[str, Sessions]
    agreement: Agreement | None = None
    repeats_tokens: bool = True
    by_prompt: Mapping[str, Ratios] = field(default_factory=dict)
    requests: int = 0

    @classmethod
    def of(cls, measurement: Measurement) -> Self:
        """Of one session."""
        block = measurement.draftgate
        return cls(
            block.subject.cell,
            block.subject.workload_hash,
            block.exact,
            {name: [samples] for name, samples in block.timed.items()},
            block.outputs_equal_control,
            block.machine.repeats_tokens,
            by_prompt(block.rounds, drafts=bool(block.subject.k)),
            len(block.rounds[0].requests),
        )

    @property
    def parting(self) -> int:
        """How many texts may differ between equal engines."""
        return 0 if self.repeats_tokens else self.requests

    def median(self, metric: str) -> float | None:
        """Median of session medians; None of a metric that was not timed."""
        sessions = self.timed.get(metric, ())
        return median_of(sessions) if any(sessions) else None
