"""What the timed verdicts of a run could have found, in one line."""

from __future__ import annotations

from collections.abc import Iterable

from draftgate.verdict.verdict import Verdict


def sensitivity_line(verdicts: Iterable[Verdict]) -> str:
    """Smallest detectable loss of each metric, best to worst cell; empty where nothing was weighed.

    Such as ``smallest detectable loss (80 % power): speedup 10.6..12.1 %``.
    """
    by_metric: dict[str, list[float]] = {}
    power = 0.0
    for verdict in verdicts:
        if verdict.sensitivity:
            by_metric.setdefault(verdict.metric, []).append(verdict.sensitivity.detectable)
            power = verdict.sensitivity.power
    if not by_metric:
        return ""
    spans = ", ".join(f"{metric} {_span(losses)} %" for metric, losses in by_metric.items())
    return f"smallest detectable loss ({100 * power:g} % power): {spans}"


def _span(losses: list[float]) -> str:
    low, high = _percent(min(losses)), _percent(max(losses))
    return low if low == high else f"{low}..{high}"


def _percent(loss: float) -> str:
    """A share may rise by any amount; past a doubling the number says no more."""
    return f"{100 * loss:.1f}" if loss < 1 else "over 100"
