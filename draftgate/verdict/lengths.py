"""Texts of another length have another throughput: that is no verdict on speed."""

from __future__ import annotations

from draftgate.measure.text_lengths import lengths_shifted
from draftgate.verdict.cause import signed_percent
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.verdict import Value, Verdict


def length_shift(
    cell: str,
    metric: str,
    tokens: int,
    baseline_tokens: int | None,
    *,
    parting: int = 0,
    value: Value | None = None,
    unit: str = "",
) -> Verdict | None:
    """STALE where the outputs' total length shifted; None where it did not, or is not known.

    ``parting``: as `lengths_shifted` takes it.
    """
    if not baseline_tokens or not lengths_shifted(baseline_tokens, tokens, parting):
        return None
    evidence = (
        f"output lengths shifted, {baseline_tokens} -> {tokens} tokens "
        f"({signed_percent(tokens / baseline_tokens)}): the times of other texts do not compare"
    )
    return Verdict(cell, metric, VerdictKind.STALE, value, unit=unit, evidence=evidence)
