"""Texts of another length have another throughput: that is no verdict on speed."""

from __future__ import annotations

import math

from draftgate.measure.per_prompt import OUTPUT_SHIFT
from draftgate.verdict.cause import signed_percent
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.verdict import Value, Verdict

PARTED_SD = 0.2
"""How far the length of a text that parted from its twin is off, relative; taken, not measured."""


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

    ``parting``: how many of the texts may differ between equal engines, whose lengths then scatter.
    """
    allowed = OUTPUT_SHIFT + (2 * PARTED_SD / math.sqrt(parting) if parting else 0.0)
    if not baseline_tokens or abs(tokens / baseline_tokens - 1) <= allowed:
        return None
    evidence = (
        f"output lengths shifted, {baseline_tokens} -> {tokens} tokens "
        f"({signed_percent(tokens / baseline_tokens)}): the times of other texts do not compare"
    )
    return Verdict(cell, metric, VerdictKind.STALE, value, unit=unit, evidence=evidence)
