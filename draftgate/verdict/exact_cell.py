"""All exact metrics of a cell, from the integers and the hash that a baseline stores.

Every stored number belongs to a metric here, so a single changed digit of a baseline is seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from draftgate.measure.exact import ExactMetrics
from draftgate.verdict.exact import judge_exact
from draftgate.verdict.verdict import Value, Verdict

Counts = Mapping[str, Any]
"""`measure.exact.ExactMetrics` as a mapping; acceptance counts absent or None without SD."""


@dataclass(frozen=True)
class ExactMetric:
    """A metric, the stored counts it is made of, and the property of `ExactMetrics` it is."""

    name: str
    counts: tuple[str, ...]
    attribute: str
    higher_is_better: bool | None = True

    def value(self, counts: Counts) -> Value | None:
        """The metric of these counts."""
        found: Value | None = getattr(ExactMetrics.model_validate(dict(counts)), self.attribute)
        return found


EXACT_METRICS: tuple[ExactMetric, ...] = (
    ExactMetric("outputs", ("outputs_hash", "output_tokens"), "outputs_hash", None),
    ExactMetric("acceptance_length", ("accepted_tokens", "num_drafts"), "acceptance_length"),
    ExactMetric(
        "per_position_acceptance_rate",
        ("accepted_per_position", "num_drafts"),
        "per_position_acceptance_rate",
    ),
    ExactMetric("drafted_tokens", ("draft_tokens",), "draft_tokens", None),
    ExactMetric("tokens_per_step", ("decode_tokens", "decode_steps"), "tokens_per_step"),
)


def judge_exact_cell(
    cell: str, measured: Counts, baseline: Counts | None, cause: str = ""
) -> list[Verdict]:
    """One verdict a metric that either side has; ``baseline=None``: each is UNBASELINED."""
    stored = baseline or {}
    return [
        judge_exact(
            cell,
            metric.name,
            metric.value(measured),
            metric.value(stored) if stored else None,
            counts={name: (stored.get(name), measured.get(name)) for name in metric.counts}
            if stored
            else None,
            higher_is_better=metric.higher_is_better,
            cause=cause,
        )
        for metric in EXACT_METRICS
        if _exists(metric, measured) or _exists(metric, stored)
    ]


def _exists(metric: ExactMetric, counts: Counts) -> bool:
    return any(counts.get(name) is not None for name in metric.counts)
