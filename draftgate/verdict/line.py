"""A verdict as one line: kind, cell, metric, old -> new, how sure, limit, cause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from draftgate.verdict.cause import signed_percent

if TYPE_CHECKING:
    from draftgate.verdict.verdict import Value, Verdict

HASH_DIGITS = 12


def first_line(verdict: Verdict) -> str:
    """For example ``REGRESSED a/b/gsm8k/bs8 speedup 1.871 -> 1.742 (-6.9 %, ..., limit -5 %)``."""
    details = ", ".join(_details(verdict))
    parts = [
        verdict.verdict.value,
        verdict.cell,
        verdict.metric,
        _change(verdict),
        f"({details})" if details else "",
    ]
    text = " ".join(part for part in parts if part)
    return f"{text}; {verdict.cause}" if verdict.cause else text


def spelled(value: Value | None) -> str:
    """A value for people: four significant digits, counts whole, hashes short."""
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(spelled, value)) + "]"
    if isinstance(value, str):
        return value[:HASH_DIGITS]
    if isinstance(value, int):
        return str(value)
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:#.4g}"


def interval_and_limit(verdict: Verdict) -> tuple[str, str]:
    """Such as ``95 % CI -8.0..-5.8`` and ``limit -5 %``; empty where the verdict has none."""
    interval = limit = ""
    if verdict.ci_low is not None and verdict.ci_high is not None:
        low, high = 100 * (verdict.ci_low - 1), 100 * (verdict.ci_high - 1)
        interval = f"95 % CI {low:+.1f}..{high:+.1f}"
    if verdict.limit is not None:
        sign = "-" if verdict.higher_is_better else "+"
        limit = f"limit {sign}{100 * verdict.limit:g} %"
    return interval, limit


def _change(verdict: Verdict) -> str:
    value, baseline = spelled(verdict.value), spelled(verdict.baseline)
    if verdict.value is None and verdict.baseline is None:
        return ""
    if verdict.baseline is None:
        text = value
    elif verdict.exact and value == baseline and verdict.value != verdict.baseline:
        text = f"{verdict.baseline!r} -> {verdict.value!r}"  # differ behind the fourth digit
    else:
        text = f"{baseline} -> {value}"
    return f"{text} {verdict.unit}".rstrip()


def _details(verdict: Verdict) -> Iterator[str]:
    if verdict.exact:
        if verdict.evidence:
            yield verdict.evidence
        yield "limit exact"
        return
    interval, limit = interval_and_limit(verdict)
    if verdict.ratio is not None:
        yield signed_percent(verdict.ratio)
    if interval:
        yield interval
    if verdict.p is not None:
        yield f"p={verdict.p:.2g}"
    if verdict.n is not None:
        yield f"n={verdict.n} {verdict.counted}"
    if limit:
        yield limit
    if verdict.evidence:
        yield verdict.evidence
