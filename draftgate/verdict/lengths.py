"""Texts of another length have another throughput: that is no verdict on speed."""

from __future__ import annotations

from draftgate.verdict.cause import signed_percent
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.verdict import Value, Verdict

SHIFT = 0.02
"""Relative change of the output tokens from which times of two measurements do not compare. Below
it the effect on throughput (a share of prefill, a fuller cache) is far smaller than any limit."""


def length_shift(
    cell: str,
    metric: str,
    tokens: int,
    baseline_tokens: int | None,
    *,
    value: Value | None = None,
    unit: str = "",
) -> Verdict | None:
    """STALE where the outputs' total length shifted; None where it did not, or is not known."""
    if not baseline_tokens or abs(tokens / baseline_tokens - 1) <= SHIFT:
        return None
    evidence = (
        f"output lengths shifted, {baseline_tokens} -> {tokens} tokens "
        f"({signed_percent(tokens / baseline_tokens)}): the times of other texts do not compare"
    )
    return Verdict(cell, metric, VerdictKind.STALE, value, unit=unit, evidence=evidence)
