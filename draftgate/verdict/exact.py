"""The rule for exact metrics: equal or failing. A rise is as suspicious as a drop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.line import spelled
from draftgate.verdict.precondition import NO_BASELINE
from draftgate.verdict.verdict import Value, Verdict

Counts = Mapping[str, tuple[Any, Any]]
"""Name -> (baseline, value) of the integers and hashes a metric is made of."""


def judge_exact(
    cell: str,
    metric: str,
    value: Value | None,
    baseline: Value | None,
    *,
    counts: Counts | None = None,
    higher_is_better: bool | None = True,
    unit: str = "",
    cause: str = "",
) -> Verdict:
    """Compare with ``==``, two-sided.

    ``counts`` must be equal too (two ratios can agree by chance), and those that differ are
    shown. A change for the better is IMPLAUSIBLE, which fails for exact metrics: nobody may gain
    by accident; every other change is REGRESSED, also one without a better direction
    (``higher_is_better=None``, for example a hash). No baseline at all: UNBASELINED.
    """
    differing = {name: pair for name, pair in (counts or {}).items() if pair[0] != pair[1]}
    kind = _kind(value, baseline, bool(differing), higher_is_better)
    return Verdict(
        cell,
        metric,
        kind,
        value=value,
        baseline=baseline,
        unit=unit,
        ratio=_ratio(value, baseline),
        n=1,
        limit=0.0,
        cause="" if kind is VerdictKind.OK else cause,
        evidence=NO_BASELINE if kind is VerdictKind.UNBASELINED else _spelled(differing),
    )


def _spelled(differing: Counts) -> str:
    return ", ".join(
        f"{name} {spelled(old)} -> {spelled(new)}" for name, (old, new) in differing.items()
    )


def _kind(
    value: Value | None, baseline: Value | None, counts_differ: bool, higher: bool | None
) -> VerdictKind:
    if baseline is None and value is not None:
        return VerdictKind.UNBASELINED
    if value == baseline and not counts_differ:
        return VerdictKind.OK
    before, after = _size(baseline), _size(value)
    if higher is None or before is None or after is None or before == after:
        return VerdictKind.REGRESSED
    return VerdictKind.IMPLAUSIBLE if (after > before) == higher else VerdictKind.REGRESSED


def _size(value: Value | None) -> float | None:
    """What "higher" means: of per-position rates, their sum (AL - 1); of a hash, nothing."""
    if value is None or isinstance(value, str):
        return None
    return sum(value) if isinstance(value, tuple) else float(value)


def _ratio(value: Value | None, baseline: Value | None) -> float | None:
    before, after = _size(baseline), _size(value)
    return after / before if before and after is not None else None
