"""`BaselineStore`: reads baseline files, and is the only one to write them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from draftgate.baseline.address import Address, exact_path, timed_path
from draftgate.baseline.candidate import Candidate
from draftgate.baseline.errors import BaselineError
from draftgate.baseline.lock import folder_lock
from draftgate.baseline.parse import File, parse
from draftgate.baseline.render import render
from draftgate.baseline.schema import (
    ExactBaseline,
    ExactFile,
    Provenance,
    TimedBaseline,
    TimedFile,
)
from draftgate.baseline.update import Action, Decision, UpdateRequest, decide
from draftgate.measure.atomic import write_text

ANY_ISA = "all"

WRITABLE = "make it writable or choose another folder with --baseline-dir"


class BaselineStore:
    """The folder of baselines. Files are read when asked for, so an update is seen at once."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def exact(self, cell_id: str, isa: str) -> ExactBaseline | None:
        """The exact baseline of a cell on an ISA class, else the one that holds on all.

        Raises BaselineError on a file that cannot be trusted.
        """
        scenario, key = Address.of(cell_id)
        for folder in (isa, ANY_ISA):
            file = _load(exact_path(self.root, folder, scenario), ExactFile, scenario)
            if file is not None and key in file.cells:
                return file.cells[key]
        return None

    def timed(self, cell_id: str, fingerprint: str) -> TimedBaseline | None:
        """The timed baseline of a cell on a machine; raises BaselineError as `exact`."""
        scenario, key = Address.of(cell_id)
        file = _load(timed_path(self.root, fingerprint, scenario), TimedFile, scenario)
        return file.cells.get(key) if file else None

    def update(self, candidates: Iterable[Candidate], request: UpdateRequest) -> list[Decision]:
        """Write what the policy accepts; one decision a candidate, in the order of files.

        A file that cannot be read or written refuses its own cells and no others. Cells that are
        not written keep their bytes; ``note`` and ``limits`` of those that are survive. Raises
        BaselineError where the folder cannot be locked.
        """
        by_file = sorted(((self._place(c), c) for c in candidates), key=lambda pair: pair[0])
        if not by_file:
            return []
        if request.refusal:  # before the folder is made
            return [decide(candidate, None, request) for _, candidate in by_file]
        try:
            with folder_lock(self.root):
                return [
                    decision
                    for place, group in groupby(by_file, key=lambda pair: pair[0])
                    for decision in _update_file(place, [c for _, c in group], request)
                ]
        except OSError as error:
            raise BaselineError(self.root, error.strerror or str(error), remedy=WRITABLE) from error

    def _place(self, candidate: Candidate) -> _Place:
        scenario, _ = Address.of(candidate.cell_id)
        if isinstance(candidate.baseline, ExactBaseline):
            return _Place(exact_path(self.root, candidate.key, scenario), "exact", scenario)
        return _Place(timed_path(self.root, candidate.key, scenario), "timed", scenario)


class _Place(NamedTuple):
    """A baseline file; sorts by path."""

    path: Path
    kind: str
    scenario: str


def _update_file(
    place: _Place, candidates: Sequence[Candidate], request: UpdateRequest
) -> list[Decision]:
    try:
        if place.kind == "exact":
            return _update_as(ExactFile, place, candidates, request)
        return _update_as(TimedFile, place, candidates, request)
    except BaselineError as error:
        return [Decision(candidate, Action.REFUSED, str(error)) for candidate in candidates]


def _update_as(
    schema: type[File], place: _Place, candidates: Sequence[Candidate], request: UpdateRequest
) -> list[Decision]:
    file = _load(place.path, schema, place.scenario)
    cells: dict[str, Any] = dict(file.cells) if file else {}
    decisions = [decide(c, cells.get(Address.of(c.cell_id).key), request) for c in candidates]
    written = [d.candidate for d in decisions if d.action is Action.WRITTEN]
    for candidate in written:
        key = Address.of(candidate.cell_id).key
        cells[key] = _keep_hand_written(candidate.baseline, cells.get(key))
    if written:
        fresh = schema.model_validate(
            {"scenario": place.scenario, "provenance": _provenance(request), "cells": cells}
        )
        _write(place.path, render(fresh))
    return decisions


def _keep_hand_written(
    fresh: ExactBaseline | TimedBaseline, existing: ExactBaseline | TimedBaseline | None
) -> ExactBaseline | TimedBaseline:
    if existing is None:
        return fresh
    by_hand: dict[str, Any] = existing.model_dump(include={"note", "limits"})
    return fresh.model_copy(update=by_hand)


def _provenance(request: UpdateRequest) -> Provenance:
    if not request.accept_regression:
        return request.provenance
    return request.provenance.model_copy(update={"reason": request.accept_regression})


def _load(path: Path, schema: type[File], scenario: str) -> File | None:
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BaselineError(
            path, error.strerror or str(error), remedy="make it readable"
        ) from error
    except UnicodeDecodeError as error:
        raise BaselineError(path, f"not UTF-8 text ({error.reason})") from None
    return parse(text, path, schema, scenario)


def _write(path: Path, text: str) -> None:
    try:
        write_text(path, text)
    except OSError as error:
        raise BaselineError(path, error.strerror or str(error), remedy=WRITABLE) from error
