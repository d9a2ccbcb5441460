"""What a reference adds to a verdict: another environment, measured in the same run.

The stored baseline says what the cell was; the reference says what it is today without the change
under test. Where the two disagree, the change is judged by the reference.
"""

from __future__ import annotations

from dataclasses import replace

from draftgate.verdict.confirm import judge_confirmation, needs_confirmation
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.line import spelled
from draftgate.verdict.paired import PairedSessions
from draftgate.verdict.rule import TimedRule
from draftgate.verdict.verdict import Verdict

RUNS = "runs"
"""The metric of a cell whose engine runs on one side only."""

WITHOUT_BASELINE = frozenset({VerdictKind.UNBASELINED, VerdictKind.STALE, VerdictKind.UNDERPOWERED})
"""Kinds of a screening without a usable baseline: the reference takes its place."""

UNDECIDED = WITHOUT_BASELINE | {
    VerdictKind.UNSTABLE,
    VerdictKind.IMPLAUSIBLE,
    VerdictKind.IMPROVED,
}
"""Kinds of a timed screening that do not answer whether this change lost anything: noise hid it,
the machine is another one than the baseline's, whatever its name, or the baseline is of a slower
vLLM."""


def wants_pairs(screened: Verdict) -> bool:
    """Whether timing the cell beside the reference can change what is said of a timed metric."""
    return needs_confirmation(screened) or screened.verdict in UNDECIDED


def settle_timed(
    screened: Verdict,
    pairs: PairedSessions,
    limit: float,
    higher_is_better: bool,
    *,
    rule: TimedRule | None = None,
    cause: str = "",
) -> Verdict:
    """Settle a screened timed verdict by pairs (candidate, reference); see `judge_confirmation`.

    ``limit``: largest tolerated relative loss, in (0, 1), where the screening has none.
    """
    if screened.verdict in UNDECIDED:
        screened = Verdict(
            screened.cell,
            screened.metric,
            screened.verdict,
            unit=screened.unit,
            limit=limit,
            higher_is_better=higher_is_better,
        )
    return judge_confirmation(screened, pairs, rule=rule, cause=cause)


def settle_share(screened: Verdict, against: Verdict) -> Verdict:
    """A stage's share by the baseline, beside the one by the reference's stage times (``against``).

    A rise against the reference fails where it is sure, and is UNSTABLE where it may be chance. A
    rise against the baseline alone is the machine's: BASELINE_DRIFT. A reference that timed other
    stages, or too few rounds, says nothing.
    """
    if against.verdict in WITHOUT_BASELINE or against.verdict is VerdictKind.INVALID:
        return replace(screened, evidence=_joined(screened.evidence, _silent(against)))
    against = _sure(against)
    evidence = _joined(against.evidence, "against the reference")
    no_rise = against.verdict in (VerdictKind.OK, VerdictKind.IMPROVED)
    if no_rise and needs_confirmation(screened):
        stored = f"{spelled(screened.baseline)} by the baseline"
        return replace(
            against, verdict=VerdictKind.BASELINE_DRIFT, evidence=_joined(stored, evidence)
        )
    return replace(against, evidence=evidence)


def settle_exact(screened: Verdict, against: Verdict) -> Verdict:
    """An exact verdict by the baseline, beside the one by the reference's own value (``against``).

    ======================  =====================  ==================================
    by the baseline         the reference is       verdict
    ======================  =====================  ==================================
    OK                      equal                  OK
    OK                      different              OK, the difference named
    none, other prompts     equal                  OK
    none, other prompts     different              as by the reference, which fails
    different               equal                  BASELINE_DRIFT: not this change
    different               different              as by the reference, which fails
    none or different       may be different       UNSTABLE: with noise, not sure
    INVALID                 either                 INVALID
    ======================  =====================  ==================================
    """
    equal = against.verdict is VerdictKind.OK
    if screened.verdict is VerdictKind.INVALID or against.verdict is VerdictKind.INVALID:
        return screened
    if screened.verdict is VerdictKind.OK:
        return screened if equal else replace(screened, evidence=_named(against))
    against = _sure(against)
    if not equal:
        return replace(against, evidence=_joined(against.evidence, "against the reference"))
    if screened.verdict in WITHOUT_BASELINE:
        return against
    evidence = _joined(screened.evidence, "the reference is where this is")
    return replace(screened, verdict=VerdictKind.BASELINE_DRIFT, evidence=evidence, cause="")


def one_sided(cell: str, candidate: str, reference: str, name: str) -> Verdict | None:
    """What is said where an engine fails; None where both sides run.

    ``candidate``, ``reference``: why the side does not run, empty where it does. ``name``: the
    reference, such as ``vllm 0.31.0``.
    """
    if not candidate and not reference:
        return None
    if not reference:
        cause = f"runs on the reference ({name}) only: {candidate}"
        return Verdict(cell, RUNS, VerdictKind.REGRESSED, cause=cause)
    if not candidate:
        cause = f"does not run on the reference ({name}): {reference}"
        return Verdict(cell, RUNS, VerdictKind.IMPROVED, cause=cause)
    cause = f"{candidate}; does not run on the reference ({name}) either"
    return Verdict(cell, RUNS, VerdictKind.INVALID, cause=cause)


def _sure(against: Verdict) -> Verdict:
    """What may be chance is not for anyone else to confirm."""
    if against.verdict is not VerdictKind.SUSPECT:
        return against
    return replace(against, verdict=VerdictKind.UNSTABLE, cause="")


def _silent(against: Verdict) -> str:
    return f"the reference cannot tell: {against.evidence or against.verdict.value}"


def _named(against: Verdict) -> str:
    change = f"{spelled(against.baseline)} on the reference"
    return _joined(change, against.evidence)


def _joined(*parts: str) -> str:
    return ", ".join(part for part in parts if part)
