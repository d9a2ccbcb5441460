"""A run's results folder, read back: the cells that it measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from draftgate.measure.record import Measurement
from draftgate.reporting.results_folder import RUN, ResultsError
from draftgate.reporting.run_files import is_finished, read_json


@dataclass(frozen=True)
class RecordedRun:
    """``facts``: of `run.json`. ``cells``: by id, in the order of their files."""

    path: Path
    facts: dict[str, Any]
    cells: dict[str, Measurement]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read ``path``, or the folder that the link ``path`` points to.

        Raises:
            ResultsError: it is no results folder, is damaged, or holds no cell.
            MeasurementError: a cell's file is damaged or newer than this draftgate.
        """
        measured = {m.draftgate.subject.cell: m for m in _measurements(path)}
        if not measured:
            raise ResultsError(f"{path}: no cell was measured (cells/ is empty or absent)")
        return cls(path, _facts(path), measured)

    @property
    def complete(self) -> bool:
        """Whether the run came to its end."""
        return is_finished(self.facts)


def is_results_folder(path: Path) -> bool:
    """Whether a run of the gate wrote ``path``."""
    return (path / RUN).is_file() or (path / "cells").is_dir()


def _measurements(path: Path) -> Iterator[Measurement]:
    if not is_results_folder(path):
        raise ResultsError(f"{path} is no results folder: give one such as results/latest")
    for file in sorted((path / "cells").glob("*.json")):
        yield Measurement.read(file)


def _facts(path: Path) -> dict[str, Any]:
    """Of a run that was killed before it wrote any: none."""
    return read_json(path / RUN, dict) if (path / RUN).exists() else {"exit_reason": "running"}
