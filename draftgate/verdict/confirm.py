"""The rule for a suspect: interleaved pairs of the candidate and a reference decide.

The stored baseline may be older than the machine's mood; a reference (another environment, such
as the merge base) timed in the same minutes is not.
"""

from __future__ import annotations

import math
from dataclasses import replace

from draftgate.measure.metrics import RELATIVE_TO_CONTROL
from draftgate.measure.sessions import median_of
from draftgate.verdict.cause import signed_percent
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.line import spelled
from draftgate.verdict.noise import Difference, log_gain
from draftgate.verdict.paired import PairedSessions, paired_difference
from draftgate.verdict.rule import TimedRule, kind_of, weighed
from draftgate.verdict.verdict import Verdict

CONFIRMABLE = frozenset({VerdictKind.SUSPECT, VerdictKind.REGRESSED})
"""Timed screenings that found a loss: the pairs are a second test of it."""


def needs_confirmation(screened: Verdict) -> bool:
    """Whether pairs against a reference are worth their time."""
    return not screened.exact and screened.verdict in CONFIRMABLE


def judge_confirmation(
    screened: Verdict,
    pairs: PairedSessions,
    *,
    rule: TimedRule | None = None,
    cause: str = "",
) -> Verdict:
    """Settle a screened verdict (its limit and direction hold) by pairs (candidate, reference).

    ``pairs``: one inner sequence for each pair of process starts. ``cause``: of candidate against
    reference, kept where that is a regression.

    - REGRESSED: the loss exceeds the limit, and p survives Bonferroni over ``rule.family_size`` at
      ``rule.pairs_alpha``.
    - BASELINE_DRIFT: no such loss, and the reference is itself below the stored baseline by more
      than the limit.
    - OK: no such loss, and the reference is where the baseline is.
    - UNSTABLE: the pairs are too noisy to tell, also where the loss exceeds the limit but may be
      chance. Listed, never silent.
    - Fewer pairs than ``rule.min_rounds``: the screened verdict stands.
    - INVALID: a value is not positive.

    The verdict's ``value`` and ``baseline`` are the medians of candidate and reference. Raises
    ValueError on a screened verdict without a limit in (0, 1).
    """
    rule = (rule or TimedRule()).for_pairs()
    sessions = [session for session in pairs if session]
    count = sum(map(len, sessions))
    values = [value for session in sessions for pair in session for value in pair]
    if not all(math.isfinite(value) and value > 0 for value in values):
        return replace(screened, verdict=VerdictKind.INVALID, evidence="a pair is not positive")
    if count < rule.min_rounds:
        few = f"not confirmed: {count} pairs, fewer than {rule.min_rounds}"
        return replace(screened, evidence=few)
    paired = replace(
        screened,
        value=median_of([[value for value, _ in session] for session in sessions]),
        baseline=median_of([[value for _, value in session] for session in sessions]),
        n=count,
        counted="pairs" if len(sessions) == 1 else f"pairs of {len(sessions)} starts",
        cause="",
    )
    engines = 4 if screened.metric in RELATIVE_TO_CONTROL else 2
    moved = paired_difference(sessions, rule.noise, engines)
    confirmed = weighed(paired, moved, rule)
    kind = _settled(moved, confirmed, screened, rule)
    return replace(
        confirmed,
        verdict=kind,
        evidence=_evidence(kind, screened, confirmed),
        cause=cause if kind is VerdictKind.REGRESSED else "",
    )


def _settled(moved: Difference, paired: Verdict, screened: Verdict, rule: TimedRule) -> VerdictKind:
    assert paired.limit is not None
    match kind_of(moved, paired.limit, paired.higher_is_better, rule):
        case VerdictKind.REGRESSED:
            return VerdictKind.REGRESSED
        case VerdictKind.SUSPECT | VerdictKind.UNSTABLE:
            return VerdictKind.UNSTABLE
    return VerdictKind.BASELINE_DRIFT if _drifted(screened, paired) else VerdictKind.OK


def _drifted(screened: Verdict, paired: Verdict) -> bool:
    drift = reference_drift(screened, paired)
    if drift is None or paired.limit is None:
        return False
    gain = math.log(drift) if paired.higher_is_better else -math.log(drift)
    return gain < log_gain(-paired.limit, paired.higher_is_better)


def reference_drift(screened: Verdict, paired: Verdict) -> float | None:
    """Reference / stored baseline; None where one of them is no number."""
    stored, reference = screened.baseline, paired.baseline
    if not isinstance(stored, float | int) or not isinstance(reference, float | int):
        return None
    return reference / stored


def _evidence(kind: VerdictKind, screened: Verdict, paired: Verdict) -> str:
    drift = reference_drift(screened, paired)
    stored = "" if drift is None else f"baseline {spelled(screened.baseline)}"
    if kind is VerdictKind.BASELINE_DRIFT and drift is not None:
        return f"the reference is {signed_percent(drift)} from the {stored} as well"
    if kind is VerdictKind.UNSTABLE and paired.sensitivity:
        return f"pairs can tell {100 * paired.sensitivity.detectable:.1f} % at best"
    return f"against the reference; {stored}" if stored else "against the reference"
