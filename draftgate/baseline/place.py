"""`Place`: one baseline file, by what it holds; and all the files there are."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from draftgate.baseline.address import ANCHOR, PORTABLE, anchor_path, exact_path, timed_path


class Kind(StrEnum):
    """What a file holds; an anchor is a release's timed baseline, which no update touches."""

    EXACT = "exact"
    TIMED = "timed"
    ANCHOR = "anchor"


class Place(NamedTuple):
    """A baseline file; sorts by path. ``key``: ISA class (exact) or fingerprint."""

    path: Path
    kind: Kind
    key: str
    scenario: str

    @classmethod
    def of(cls, root: Path, kind: Kind, key: str, scenario: str) -> Place:
        """The file of a scenario; raises BaselineError on a key that is no folder name."""
        paths = {Kind.EXACT: exact_path, Kind.TIMED: timed_path, Kind.ANCHOR: anchor_path}
        return cls(paths[kind](root, key, scenario), kind, key, scenario)


def places(root: Path) -> Iterator[Place]:
    """All baseline files below ``root``, sorted; temporary files and what is no JSON are left out.

    Yields nothing where the folder does not exist.
    """
    kinds = {PORTABLE: Kind.EXACT, ANCHOR: Kind.ANCHOR}
    for path in sorted(root.rglob("*.json")):
        parts = path.relative_to(root).with_suffix("").parts
        if any(part.startswith(".") for part in parts):
            continue
        kind = kinds.get(parts[0], Kind.TIMED)
        key, *scenario = parts if kind is Kind.TIMED else parts[1:]
        if len(scenario) == 2:
            yield Place(path, kind, key, "/".join(scenario))
