"""`BaselineStore`: reads baseline files, and is the only one to write them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from draftgate.baseline.address import Address, exact_path, timed_path
from draftgate.baseline.anchor import Anchor, find_anchor
from draftgate.baseline.candidate import Candidate
from draftgate.baseline.errors import BaselineError
from draftgate.baseline.files import WRITABLE, load, write
from draftgate.baseline.lock import folder_lock
from draftgate.baseline.parse import File
from draftgate.baseline.place import Kind, Place
from draftgate.baseline.render import render
from draftgate.baseline.schema import (
    ExactBaseline,
    ExactFile,
    Provenance,
    TimedBaseline,
    TimedFile,
)
from draftgate.baseline.update import Action, Decision, UpdateRequest, decide

ANY_ISA = "all"


class BaselineStore:
    """The folder of baselines. Files are read when asked for, so an update is seen at once.

    A ``series`` lies beside the others, in folders of its own: two profiles may measure a cell of
    one name over other prompts.
    """

    def __init__(self, root: Path, series: str | None = None) -> None:
        self.root = root
        self.series = series

    def key(self, key: str) -> str:
        """The folder of a fingerprint or ISA class: its name, in a series ``NAME+SERIES``."""
        return key if self.series is None else f"{key}+{self.series}"

    def exact(self, cell_id: str, isa: str) -> ExactBaseline | None:
        """The exact baseline of a cell on an ISA class, else the one that holds on all.

        Raises BaselineError on a file that cannot be trusted.
        """
        scenario, key = Address.of(cell_id)
        for folder in (isa, ANY_ISA):
            file = load(exact_path(self.root, self.key(folder), scenario), ExactFile, scenario)
            if file is not None and key in file.cells:
                return file.cells[key]
        return None

    def timed(self, cell_id: str, fingerprint: str) -> TimedBaseline | None:
        """The timed baseline of a cell on a machine; raises BaselineError as `exact`."""
        scenario, key = Address.of(cell_id)
        file = load(timed_path(self.root, self.key(fingerprint), scenario), TimedFile, scenario)
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
                    for decision in self._update_file(place, [c for _, c in group], request)
                ]
        except OSError as error:
            raise BaselineError(self.root, error.strerror or str(error), remedy=WRITABLE) from error

    def _place(self, candidate: Candidate) -> Place:
        scenario, _ = Address.of(candidate.cell_id)
        kind = Kind.EXACT if isinstance(candidate.baseline, ExactBaseline) else Kind.TIMED
        return Place.of(self.root, kind, self.key(candidate.key), scenario)

    def _update_file(
        self, place: Place, candidates: Sequence[Candidate], request: UpdateRequest
    ) -> list[Decision]:
        try:
            if place.kind is Kind.EXACT:
                return self._update_as(ExactFile, place, candidates, request)
            return self._update_as(TimedFile, place, candidates, request)
        except BaselineError as error:
            return [Decision(candidate, Action.REFUSED, str(error)) for candidate in candidates]

    def _update_as(
        self,
        schema: type[File],
        place: Place,
        candidates: Sequence[Candidate],
        request: UpdateRequest,
    ) -> list[Decision]:
        file = load(place.path, schema, place.scenario)
        cells: dict[str, Any] = dict(file.cells) if file else {}
        decisions = []
        for candidate in candidates:
            key = Address.of(candidate.cell_id).key
            anchor = self._anchor(place, key)
            decisions.append(decide(candidate, cells.get(key), request, anchor))
        written = [d.candidate for d in decisions if d.action is Action.WRITTEN]
        for candidate in written:
            key = Address.of(candidate.cell_id).key
            cells[key] = _keep_hand_written(candidate.baseline, cells.get(key))
        if written:
            fresh = schema.model_validate(
                {"scenario": place.scenario, "provenance": _provenance(request), "cells": cells}
            )
            write(place.path, render(fresh))
        return decisions

    def _anchor(self, place: Place, key: str) -> Anchor | None:
        if place.kind is Kind.EXACT:  # what moved unseen is not written, so nothing can creep
            return None
        return find_anchor(self.root, place.key, place.scenario, key)


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
