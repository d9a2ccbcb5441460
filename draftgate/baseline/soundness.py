"""What is wrong with a folder of baselines, and what deserves a look."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

from draftgate.baseline.age import age_days
from draftgate.baseline.anchor import find_anchor
from draftgate.baseline.errors import BaselineError
from draftgate.baseline.files import read
from draftgate.baseline.place import Kind, Place, places
from draftgate.baseline.schema import ExactFile, TimedBaseline, TimedFile

Level = Literal["error", "warning"]


@dataclass(frozen=True)
class Remark:
    """An error makes the gate untrustworthy, a warning does not yet."""

    level: Level
    file: str
    cell: str | None
    text: str

    def record(self) -> dict[str, Any]:
        """As a flat record."""
        return asdict(self)


@dataclass(frozen=True)
class Expectation:
    """``cells``: of all profiles. ``limits``: of timed metrics. ``max_age``: days."""

    cells: Collection[str]
    limits: Mapping[str, float]
    today: date
    max_age: int


def check(root: Path, expected: Expectation) -> list[Remark]:
    """Errors first. Damaged files, files that lie where nothing reads them, creep, age, orphans."""
    found = [remark for place in places(root) for remark in _of_file(root, place, expected)]
    found += [_misplaced(path) for path in _misplaced_files(root)]
    return sorted(found, key=lambda remark: (remark.level != "error", remark.file))


def _of_file(root: Path, place: Place, expected: Expectation) -> Iterator[Remark]:
    path = str(place.path)
    try:
        file = read(place)
    except BaselineError as error:
        yield Remark("error", path, None, str(error))
        return
    if file is None or place.kind is Kind.ANCHOR:
        return
    yield from _aged(path, file, expected)
    for key, baseline in file.cells.items():
        cell = f"{place.scenario}/{key}"
        if cell not in expected.cells:
            yield Remark("warning", path, cell, "no profile has this cell; --prune-baselines")
        if isinstance(baseline, TimedBaseline):
            yield from _crept(root, place, key, baseline, expected)


def _aged(path: str, file: ExactFile | TimedFile, expected: Expectation) -> Iterator[Remark]:
    written = file.provenance.date
    age = age_days(written, expected.today)
    if age is None:
        yield Remark("error", path, None, f"key provenance.date: {written!r} is no ISO date")
    elif age > expected.max_age and isinstance(file, TimedFile):
        yield Remark("warning", path, None, f"{age} days old; measure it again")


def _crept(
    root: Path, place: Place, key: str, baseline: TimedBaseline, expected: Expectation
) -> Iterator[Remark]:
    try:
        anchor = find_anchor(root, place.key, place.scenario, key)
    except BaselineError:  # reported with the anchor's own file
        return
    for change in anchor.losses(baseline, expected.limits) if anchor else ():
        assert anchor is not None
        yield Remark(
            "error",
            str(place.path),
            f"{place.scenario}/{key}",
            f"{change.metric} {change.before:g} -> {change.after:g} since {anchor.release}: "
            f"lost {100 * change.loss:.1f} % in small steps",
        )


def _misplaced_files(root: Path) -> Iterator[Path]:
    known = {place.path for place in places(root)}
    return (p for p in sorted(root.rglob("*")) if p.is_file() and p not in known)


def _misplaced(path: Path) -> Remark:
    if path.name.startswith("."):
        return Remark("warning", str(path), None, "left by a writer that was killed; delete it")
    return Remark("warning", str(path), None, "no place of a baseline, so nothing reads it")
