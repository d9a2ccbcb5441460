"""Rounds of two engines on the same prompts, each timed next to its partner."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from draftgate.engine.records import RoundRecord
from draftgate.measure import metrics

MetricPairs = tuple[tuple[float, float], ...]
"""Values of one metric, (candidate, reference) a pair of rounds."""


@dataclass(frozen=True)
class Pairs:
    """Round ``i`` of both was played in the same moments, in turn first and second."""

    rounds: tuple[RoundRecord, ...]
    reference_rounds: tuple[RoundRecord, ...]

    def of(self, metric: str) -> MetricPairs:
        """The pairs of a timed metric; empty where a round does not have it."""
        sides = [metrics.timed_samples(r) for r in (self.rounds, self.reference_rounds)]
        values = [side.get(metric, ()) for side in sides]
        return tuple(zip(*values, strict=True)) if len(values[0]) == len(values[1]) else ()

    def metrics(self) -> dict[str, MetricPairs]:
        """The pairs of every timed metric that the rounds have."""
        return {name: self.of(name) for name in metrics.timed_samples(self.rounds)}

    def tokens_per_step_ratio(self) -> float | None:
        """Candidate / reference; exact, so the first rounds tell."""
        ours, theirs = map(metrics.tokens_per_step, (self.rounds[0], self.reference_rounds[0]))
        return ours / theirs if ours and theirs else None


def median_ratio(starts: Iterable[Pairs], metric: str) -> float | None:
    """Candidate / reference of a timed metric, median over the pairs of all starts."""
    ratios = [value / other for pairs in starts for value, other in pairs.of(metric)]
    return statistics.median(ratios) if ratios else None


def speedup_pairs(arm: Pairs, control: Pairs) -> MetricPairs:
    """Speed-up of candidate and reference, from pairs of the arm and pairs of its control.

    What drifts is gone within each pair, so that the two need not be timed in the same moments:
    the ratio of the two speed-ups is the ratio of two paired ratios.
    """
    return tuple(
        (value / value_control, other / other_control)
        for (value, other), (value_control, other_control) in zip(
            arm.of("output_throughput"), control.of("output_throughput"), strict=False
        )
    )
