"""The rule for acceptance where it is not exact: low precision on a GPU, sampling."""

from __future__ import annotations

from dataclasses import replace

from draftgate.measure.per_prompt import Ratios
from draftgate.verdict.clustered import clustered_difference
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.rule import TimedRule, kind_of, weighed
from draftgate.verdict.verdict import Verdict

MIN_PROMPTS = 5
"""Fewer clusters give a variance that cannot be trusted."""


def judge_tolerance(
    cell: str,
    metric: str,
    value: Ratios,
    baseline: Ratios,
    limit: float,
    *,
    rule: TimedRule | None = None,
) -> Verdict:
    """Compare a ratio (acceptance length, tokens per step), paired by prompt.

    As a timed metric: effect beyond ``limit`` and significance, both. Fewer than `MIN_PROMPTS`
    common prompts: UNDERPOWERED; nothing drafted on a side: INVALID. Raises ValueError on a limit
    outside (0, 1).
    """
    rule = rule or TimedRule()
    common = value.keys() & baseline.keys()
    verdict = Verdict(
        cell,
        metric,
        VerdictKind.OK,
        _ratio(value, common),
        _ratio(baseline, common),
        n=len(common),
        limit=limit,
        counted="prompts",
    )
    if len(common) < MIN_PROMPTS:
        few = f"fewer than {MIN_PROMPTS} common prompts"
        return replace(verdict, verdict=VerdictKind.UNDERPOWERED, evidence=few)
    if not verdict.value or not verdict.baseline:
        return replace(verdict, verdict=VerdictKind.INVALID, evidence="nothing was drafted")
    moved = clustered_difference(value, baseline)
    return replace(weighed(verdict, moved, rule), verdict=kind_of(moved, limit, True, rule))


def _ratio(counts: Ratios, prompts: set[str]) -> float | None:
    above, below = (sum(counts[p][i] for p in prompts) for i in range(2))
    return above / below if below else None
