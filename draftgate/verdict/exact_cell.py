"""All exact metrics of a cell, from the integers and the hash that a baseline stores.

Every stored number belongs to a metric here, so a single changed digit of a baseline is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from draftgate.verdict.exact import judge_exact
from draftgate.verdict.verdict import Value, Verdict

Counts = Mapping[str, Any]
"""`measure.exact.ExactMetrics` as a mapping; acceptance counts absent or None without SD."""


@dataclass(frozen=True)
class ExactMetric:
    """A metric, the stored counts it is made of, and how."""

    name: str
    counts: tuple[str, ...]
    value: Callable[[Counts], Value | None]
    higher_is_better: bool | None = True


def _ratio(counts: Counts, numerator: str, denominator: str) -> float | None:
    return counts[numerator] / counts[denominator] if counts.get(denominator) else None


def _acceptance_length(counts: Counts) -> float | None:
    rate = _ratio(counts, "accepted_tokens", "num_drafts")
    return None if rate is None else 1 + rate


def _per_position(counts: Counts) -> tuple[float, ...] | None:
    drafts = counts.get("num_drafts")
    return tuple(n / drafts for n in counts["accepted_per_position"]) if drafts else None


EXACT_METRICS: tuple[ExactMetric, ...] = (
    ExactMetric("outputs", ("outputs_hash", "output_tokens"), lambda c: c["outputs_hash"], None),
    ExactMetric("acceptance_length", ("accepted_tokens", "num_drafts"), _acceptance_length),
    ExactMetric(
        "per_position_acceptance_rate", ("accepted_per_position", "num_drafts"), _per_position
    ),
    ExactMetric("drafted_tokens", ("draft_tokens",), lambda c: c.get("draft_tokens"), None),
    ExactMetric(
        "tokens_per_step",
        ("decode_tokens", "decode_steps"),
        lambda c: _ratio(c, "decode_tokens", "decode_steps"),
    ),
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
