"""The rule for timed metrics: effect beyond the limit and significance, both."""

from __future__ import annotations

import math
from dataclasses import replace

from draftgate.measure.sessions import Sessions, median_of
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.noise import difference
from draftgate.verdict.precondition import NO_BASELINE
from draftgate.verdict.rule import TimedRule, kind_of, weighed
from draftgate.verdict.verdict import Verdict


def judge_timed(
    cell: str,
    metric: str,
    samples: Sessions,
    baseline_samples: Sessions | None,
    limit: float,
    higher_is_better: bool = True,
    *,
    unit: str = "",
    cause: str = "",
    can_confirm: bool = False,
    rule: TimedRule | None = None,
) -> Verdict:
    """Judge one timed metric against its baseline.

    ``limit``: largest tolerated relative loss, in (0, 1). ``cause`` (as `cause.Factors.text`) is
    kept where the value moved. A loss is REGRESSED where its p survives Bonferroni over
    ``rule.family_size``, else SUSPECT; ``can_confirm``: a reference stage follows (`confirm`), so
    every loss is SUSPECT. Raises ValueError on a limit outside (0, 1).
    """
    if not 0 < limit < 1:
        raise ValueError(f"{metric}: a limit of {limit} is not in (0, 1)")
    rule = rule or TimedRule()
    verdict = Verdict(
        cell,
        metric,
        VerdictKind.OK,
        unit=unit,
        n=_rounds(samples),
        limit=limit,
        higher_is_better=higher_is_better,
    )
    if not _positive(samples) or not _positive(baseline_samples or ()):
        return replace(verdict, verdict=VerdictKind.INVALID, evidence="a sample is not positive")
    verdict = replace(verdict, value=_middle(samples))
    if baseline_samples is None:
        return replace(verdict, verdict=VerdictKind.UNBASELINED, evidence=NO_BASELINE)
    verdict = replace(verdict, baseline=_middle(baseline_samples))
    if min(_rounds(samples), _rounds(baseline_samples)) < rule.min_rounds:
        few = f"fewer than {rule.min_rounds} rounds"
        return replace(verdict, verdict=VerdictKind.UNDERPOWERED, evidence=few)
    moved = difference(_filled(samples), _filled(baseline_samples), rule.noise.of(metric))
    kind = kind_of(moved, limit, higher_is_better, rule)
    if kind is VerdictKind.REGRESSED and can_confirm:
        kind = VerdictKind.SUSPECT
    quiet = kind in (VerdictKind.OK, VerdictKind.UNSTABLE)
    return replace(
        weighed(verdict, moved, rule),
        verdict=kind,
        evidence=_doubt(rule, can_confirm) if kind is VerdictKind.SUSPECT else "",
        cause="" if quiet else cause,
    )


def _doubt(rule: TimedRule, can_confirm: bool) -> str:
    if can_confirm:
        return "to be confirmed against the reference"
    return (
        f"may be chance among {rule.family_size} comparisons; confirm with --perf-reference PYTHON"
    )


def _filled(samples: Sessions) -> Sessions:
    return [session for session in samples if session]


def _rounds(samples: Sessions) -> int:
    return sum(map(len, samples))


def _positive(samples: Sessions) -> bool:
    return all(math.isfinite(value) and value > 0 for session in samples for value in session)


def _middle(samples: Sessions) -> float | None:
    return median_of(samples) if any(samples) else None
