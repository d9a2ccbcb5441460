"""The drift anchor: timed baselines of a release, against which slow creep is seen.

Each refresh may lose a little and stay within its limit; many of them may lose a lot. An anchor
stays where it is while baselines move, and a cell may lose its limit only once against it. A limit
in the anchor's own file, written by hand, replaces the profile's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from draftgate.baseline.change import Change, beyond
from draftgate.baseline.errors import BaselineError
from draftgate.baseline.files import WRITABLE, load, write
from draftgate.baseline.lock import folder_lock
from draftgate.baseline.place import Kind, Place, places
from draftgate.baseline.render import render
from draftgate.baseline.schema import TimedBaseline, TimedFile


@dataclass(frozen=True)
class Anchor:
    """A cell's timed baseline as of ``release``."""

    release: str
    baseline: TimedBaseline

    def losses(self, baseline: TimedBaseline, limits: Mapping[str, float]) -> list[Change]:
        """What ``baseline`` has lost in all, beyond the limit; nothing where prompts differ."""
        if baseline.workload_hash != self.baseline.workload_hash:
            return []
        allowed = {**limits, **self.baseline.limits}
        return [c for c in beyond(self.baseline, baseline, allowed) if c.loss > 0]


def find_anchor(root: Path, fingerprint: str, scenario: str, key: str) -> Anchor | None:
    """The anchor of a cell, if a release was anchored here; raises BaselineError."""
    place = Place.of(root, Kind.ANCHOR, fingerprint, scenario)
    file = load(place.path, TimedFile, scenario)
    if file is None or key not in file.cells:
        return None
    return Anchor(file.provenance.reason, file.cells[key])


def set_anchor(
    root: Path, release: str, fingerprint: str = "", *, move: bool = False
) -> list[Path]:
    """Keep the timed baselines as they are now as those of ``release``; the files written.

    ``fingerprint``: of one machine, else of all. Limits of an anchor that is moved survive. Raises
    BaselineError where there is nothing to keep, or an anchor stands already and ``move`` is False.
    """
    try:
        with folder_lock(root):
            timed = [p for p in places(root) if p.kind is Kind.TIMED]
            chosen = [p for p in timed if not fingerprint or p.key == fingerprint]
            if not chosen:
                known = ", ".join(sorted({p.key for p in timed})) or "none"
                remedy = f"machines with timed baselines: {known}"
                raise BaselineError(
                    root, f"no timed baseline {fingerprint}".rstrip(), remedy=remedy
                )
            return [_keep(root, place, release, move) for place in chosen]
    except OSError as error:
        raise BaselineError(root, error.strerror or str(error), remedy=WRITABLE) from error


def _keep(root: Path, place: Place, release: str, move: bool) -> Path:
    target = Place.of(root, Kind.ANCHOR, place.key, place.scenario).path
    old = load(target, TimedFile, place.scenario)
    if old is not None and not move:
        raise BaselineError(
            target,
            f"the anchor {old.provenance.reason} stands already",
            remedy="it guards nothing if it moves with every release; --move says you mean it",
        )
    file = load(place.path, TimedFile, place.scenario)
    assert file is not None  # listed under the lock
    cells = {key: _limits_of(cell, old, key) for key, cell in file.cells.items()}
    provenance = file.provenance.model_copy(update={"reason": release})
    write(target, render(file.model_copy(update={"cells": cells, "provenance": provenance})))
    return target


def _limits_of(cell: TimedBaseline, old: TimedFile | None, key: str) -> TimedBaseline:
    kept = old.cells[key].limits if old and key in old.cells else {}
    return cell.model_copy(update={"limits": kept, "note": ""})
