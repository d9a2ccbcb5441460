"""Every stored number as a flat record, and two folders of them compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from draftgate.baseline.age import age_days
from draftgate.baseline.files import read
from draftgate.baseline.place import places
from draftgate.baseline.schema import ExactBaseline, Provenance, TimedBaseline, significant

Number = float | int | str | None

EXACT_SHOWN = ("acceptance_length", "tokens_per_step", "draft_tokens", "outputs_hash")


class Key(NamedTuple):
    """What a stored number is about. ``machine``: ISA class or fingerprint."""

    kind: str
    machine: str
    cell: str
    metric: str


class Stored(NamedTuple):
    """A stored number with the cell and the file it stands in."""

    key: Key
    value: Number
    baseline: ExactBaseline | TimedBaseline
    provenance: Provenance


def numbers(root: Path, *, whole: bool = False) -> Iterator[Stored]:
    """All metrics of all cells, by file; exact ones as their ratios.

    ``whole``: also everything else that is compared or decides, by the names of its keys (a
    prompt's own counts go without: they add up to the metrics). Raises BaselineError on a damaged
    file.
    """
    for place in places(root):
        file = read(place)
        for name, baseline in (file.cells if file else {}).items():
            assert file is not None
            for metric, value in (*_metrics(baseline), *(_others(baseline) if whole else ())):
                key = Key(place.kind.value, place.key, f"{place.scenario}/{name}", metric)
                yield Stored(key, value, baseline, file.provenance)


def listing(root: Path, today: date) -> list[dict[str, Any]]:
    """``{kind, machine, cell, metric, value, n, date, age_days, commit, vllm, note}`` a metric."""
    return [
        {
            **stored.key._asdict(),
            "value": shown(stored.value),
            "n": _n(stored.baseline, stored.key.metric),
            "date": stored.provenance.date,
            "age_days": age_days(stored.provenance.date, today),
            "commit": stored.provenance.commit[:12],
            "vllm": stored.provenance.vllm,
            "note": stored.baseline.note or None,
        }
        for stored in numbers(root)
    ]


def diff(before: Path, after: Path) -> list[dict[str, Any]]:
    """``{kind, machine, cell, metric, change, old, new, ratio}`` of what differs.

    ``change``: added, removed or changed. ``ratio``: new / old, None where there is none. Of a cell
    that one side lacks only its metrics are listed.
    """
    old, new = ({s.key: s.value for s in numbers(root, whole=True)} for root in (before, after))
    both = _cells(old) & _cells(new)
    shown_first = {s.key for root in (before, after) for s in numbers(root)}
    return [
        {**key._asdict(), **_change(old.get(key), new.get(key))}
        for key in sorted(old.keys() | new.keys())
        if old.get(key) != new.get(key) and (key in shown_first or key[:3] in both)
    ]


def _cells(numbers: Iterable[Key]) -> set[tuple[str, ...]]:
    return {key[:3] for key in numbers}


def shown(value: Number) -> Number:
    """Ratios in four significant digits, counts whole, a hash's first twelve digits."""
    if isinstance(value, float):
        return significant(value)
    return value[:12] if isinstance(value, str) else value


def _change(old: Number, new: Number) -> dict[str, Any]:
    change = "added" if old is None else "removed" if new is None else "changed"
    ratio = None
    if isinstance(old, float | int) and isinstance(new, float | int) and old:
        ratio = round(new / old, 4)
    return {"change": change, "old": shown(old), "new": shown(new), "ratio": ratio}


def _metrics(baseline: ExactBaseline | TimedBaseline) -> Iterator[tuple[str, Number]]:
    if isinstance(baseline, TimedBaseline):
        for name, metric in baseline.metrics.items():
            yield name, metric.median
        return
    for name in EXACT_SHOWN:
        value = getattr(baseline.metrics, name)
        if value is not None:
            yield name, value


def _others(baseline: ExactBaseline | TimedBaseline) -> Iterator[tuple[str, Number]]:
    """What a refresh or a hand may change besides the metrics; a count by position each."""
    yield "workload_hash", baseline.workload_hash
    if isinstance(baseline, TimedBaseline):
        yield "output_tokens", baseline.output_tokens
        for name, limit in baseline.limits.items():
            yield f"limits.{name}", limit
        return
    for name, value in baseline.metrics.model_dump(exclude={*EXACT_SHOWN}).items():
        for index, count in enumerate(value if isinstance(value, tuple) else ()):
            yield f"{name}[{index}]", count
        if not isinstance(value, tuple):
            yield name, value


def _n(baseline: ExactBaseline | TimedBaseline, metric: str) -> int | None:
    return baseline.metrics[metric].n if isinstance(baseline, TimedBaseline) else None
