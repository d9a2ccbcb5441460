"""Change points of a history as flat records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from draftgate.measure.metrics import higher_is_better
from draftgate.reporting.history import Entry, series
from draftgate.verdict.change_points import ChangePoint, ChangeRule, change_points


def trend(entries: Iterable[Entry], rule: ChangeRule, *, quiet_too: bool) -> list[dict[str, Any]]:
    """``{machine, cell, metric, runs, at, commit_before, commit, vllm, before, after, ratio, p,
    change}`` a change point; ``quiet_too``: also a record, with nulls, for a series without one.

    ``at``: the first run after the change. ``change``: ``better`` or ``worse``. The worst first.
    """
    records = []
    for key, runs in series(entries).items():
        points = change_points([run.metrics[key[2]] for run in runs], rule)
        records += [_record(key, runs, point) for point in points]
        if quiet_too and not points:
            records.append(_record(key, runs, None))
    return sorted(records, key=_rank)


def _record(
    key: tuple[str, str, str], runs: Sequence[Entry], point: ChangePoint | None
) -> dict[str, Any]:
    machine, cell, metric = key
    at = runs[point.index] if point else None
    return {
        "machine": machine,
        "cell": cell,
        "metric": metric,
        "runs": len(runs),
        "at": at.run if at else None,
        "commit_before": runs[point.index - 1].commit[:12] if point else None,
        "commit": at.commit[:12] if at else None,
        "vllm": at.vllm if at else None,
        "before": _short(point.before if point else runs[-1].metrics[metric]),
        "after": _short(point.after) if point else None,
        "ratio": round(point.ratio, 4) if point else None,
        "p": round(point.p, 4) if point else None,
        "change": _word(metric, point.ratio) if point else None,
    }


def _word(metric: str, ratio: float) -> str:
    return "better" if (ratio > 1) == higher_is_better(metric) else "worse"


def _rank(record: dict[str, Any]) -> tuple[int, str, str]:
    order = {"worse": 0, "better": 1, None: 2}
    return order[record["change"]], str(record["at"]), record["cell"]


def _short(value: float) -> float:
    return float(f"{value:.4g}")
