"""Deleting baselines of cells that no profile has any more."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from draftgate.baseline.errors import BaselineError
from draftgate.baseline.files import WRITABLE, read, write
from draftgate.baseline.lock import folder_lock
from draftgate.baseline.place import Kind, Place, places
from draftgate.baseline.render import render


@dataclass(frozen=True)
class Orphan:
    """A stored cell that nothing measures."""

    place: Place
    cell: str


def orphans(
    root: Path, cells: Collection[str], keys: Collection[str] | None = None
) -> list[Orphan]:
    """Stored cells that are none of ``cells``; anchors are history and stay.

    ``keys``: only of these fingerprints and ISA classes. Raises BaselineError on a damaged file.
    """
    found = []
    for place in places(root):
        if place.kind is Kind.ANCHOR or (keys is not None and place.key not in keys):
            continue
        file = read(place)
        names = [f"{place.scenario}/{key}" for key in (file.cells if file else ())]
        found += [Orphan(place, name) for name in names if name not in cells]
    return found


def prune(root: Path, cells: Collection[str], keys: Collection[str]) -> list[Orphan]:
    """Delete the `orphans`, and files that hold nothing else; the cells deleted.

    Raises BaselineError, with nothing deleted from the file it names.
    """
    if not root.is_dir():
        return []
    try:
        with folder_lock(root):
            found = orphans(root, cells, keys)
            for place in dict.fromkeys(orphan.place for orphan in found):
                _without(place, {o.cell for o in found if o.place == place})
            return found
    except OSError as error:
        raise BaselineError(root, error.strerror or str(error), remedy=WRITABLE) from error


def _without(place: Place, cells: Collection[str]) -> None:
    file = read(place)
    assert file is not None  # read under the same lock
    kept = {k: v for k, v in file.cells.items() if f"{place.scenario}/{k}" not in cells}
    if kept:
        write(place.path, render(file.model_copy(update={"cells": kept})))
    else:
        place.path.unlink()
