"""The rule for timed metrics: effect beyond the limit and significance, both."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field, replace

from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.noise import Difference, NoiseModel, Sessions, difference
from draftgate.verdict.precondition import NO_BASELINE
from draftgate.verdict.verdict import Verdict


@dataclass(frozen=True)
class TimedRule:
    """``alpha``: significance. ``implausible_gain``: relative. ``min_rounds``: of either side."""

    alpha: float = 0.05
    implausible_gain: float = 0.20
    min_rounds: int = 3
    noise: NoiseModel = field(default_factory=NoiseModel)


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

    ``limit``: largest tolerated relative loss, in (0, 1). ``cause`` (see `cause.explain`) is kept
    where the value moved. ``can_confirm``: a reference stage follows, so a loss is SUSPECT, not
    yet REGRESSED. Raises ValueError on a limit outside (0, 1).
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
    moved = difference(_filled(samples), _filled(baseline_samples), rule.noise)
    kind = _kind(moved, limit, higher_is_better, rule)
    if kind is VerdictKind.REGRESSED and can_confirm:
        kind = VerdictKind.SUSPECT
    quiet = kind in (VerdictKind.OK, VerdictKind.UNSTABLE)
    return replace(
        verdict,
        verdict=kind,
        ratio=math.exp(moved.log_ratio),
        ci_low=math.exp(moved.log_ratio - moved.half_width()),
        ci_high=math.exp(moved.log_ratio + moved.half_width()),
        p=moved.p_below() if higher_is_better else moved.p_above(),
        cause="" if quiet else cause,
    )


def _kind(moved: Difference, limit: float, higher: bool, rule: TimedRule) -> VerdictKind:
    """Monotone: at the same noise, a smaller value never gets a better verdict."""
    gain = moved.log_ratio if higher else -moved.log_ratio
    p_loss, p_gain = moved.p_below(), moved.p_above()
    if not higher:
        p_loss, p_gain = p_gain, p_loss
    tolerated = _log_gain(-limit, higher)
    if gain < tolerated and p_loss < rule.alpha:
        return VerdictKind.REGRESSED
    if p_gain < rule.alpha and gain > _log_gain(rule.implausible_gain, higher):
        return VerdictKind.IMPLAUSIBLE
    if p_gain < rule.alpha and gain > _log_gain(limit, higher):
        return VerdictKind.IMPROVED
    half = moved.half_width()
    # A wide interval that still excludes a loss at the limit has answered the question.
    if half > -tolerated and gain - half <= tolerated:
        return VerdictKind.UNSTABLE
    return VerdictKind.OK


def _log_gain(change: float, higher_is_better: bool) -> float:
    """A relative change for the better (negative: for the worse) on the scale of log gains."""
    return math.log1p(change) if higher_is_better else -math.log1p(-change)


def _filled(samples: Sessions) -> Sessions:
    return [session for session in samples if session]


def _rounds(samples: Sessions) -> int:
    return sum(map(len, samples))


def _positive(samples: Sessions) -> bool:
    return all(math.isfinite(value) and value > 0 for session in samples for value in session)


def _middle(samples: Sessions) -> float | None:
    """Median of session medians: what a report shows."""
    medians = [statistics.median(session) for session in samples if session]
    return statistics.median(medians) if medians else None
