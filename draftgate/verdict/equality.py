"""The rule for losslessness on the timed tokens: every output equals the control's."""

from __future__ import annotations

from draftgate.measure.agreement import Agreement, Difference
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.verdict import Verdict

OUTPUTS_EQUAL_CONTROL = "outputs_equal_control"


def judge_equality(cell: str, agreement: Agreement) -> Verdict:
    """OK where all outputs are equal but for near-ties, which are counted; else REGRESSED, naming
    the first divergence.

    Needs no baseline: the control of the same session is the reference.
    """
    return Verdict(
        cell,
        OUTPUTS_EQUAL_CONTROL,
        VerdictKind.OK if agreement.holds else VerdictKind.REGRESSED,
        value=agreement.identical,
        baseline=agreement.requests,
        unit="identical outputs",
        n=agreement.requests,
        limit=0.0,
        evidence=_evidence(agreement),
    )


def _evidence(agreement: Agreement) -> str:
    if not agreement.differences:
        return "" if agreement.equal else "the control ran other prompts"
    counted = _near_ties(agreement)
    if agreement.holds:
        return counted
    first = agreement.divergences[0]
    differ = (
        f"{len(agreement.divergences)} of {agreement.requests} outputs differ from standard "
        f"decoding, first {first.prompt_id} at token {first.position}: {_parting(first)}"
    )
    return f"{differ}; {counted}" if counted else differ


def _near_ties(agreement: Agreement) -> str:
    gaps = [difference.gap or 0.0 for difference in agreement.near_ties]
    return f"{len(gaps)} near-ties of up to {max(gaps):.2g} nats" if gaps else ""


def _gap(difference: Difference) -> str:
    return "" if difference.gap is None else f" ({difference.gap:.2g} nats below the likeliest)"


def _parting(first: Difference) -> str:
    if first.token is None and first.control_token is None:
        return "it ends for another reason"
    return f"{_token(first.token)} instead of {_token(first.control_token)}{_gap(first)}"


def _token(token: int | None) -> str:
    return "end" if token is None else str(token)
