"""The rule for losslessness on the timed tokens: every output equals the control's."""

from __future__ import annotations

from draftgate.measure.agreement import Agreement
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.verdict import Verdict

OUTPUTS_EQUAL_CONTROL = "outputs_equal_control"


def judge_equality(cell: str, agreement: Agreement) -> Verdict:
    """OK where all outputs are equal; else REGRESSED, naming the first divergence.

    Needs no baseline: the control of the same session is the reference.
    """
    return Verdict(
        cell,
        OUTPUTS_EQUAL_CONTROL,
        VerdictKind.OK if agreement.equal else VerdictKind.REGRESSED,
        value=agreement.identical,
        baseline=agreement.requests,
        unit="identical outputs",
        n=agreement.requests,
        limit=0.0,
        evidence=_divergence(agreement),
    )


def _divergence(agreement: Agreement) -> str:
    if not agreement.differences:
        return "" if agreement.equal else "the control ran other prompts"
    first = agreement.differences[0]
    return (
        f"{len(agreement.differences)} of {agreement.requests} outputs differ from standard "
        f"decoding, first {first.prompt_id} at token {first.position}: "
        f"{_token(first.token)} instead of {_token(first.control_token)}"
    )


def _token(token: int | None) -> str:
    return "end" if token is None else str(token)
