"""A run's results folder, read back: the cells that it measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from draftgate.measure.record import Measurement
from draftgate.reporting.results_folder import RUN, ResultsError

RUNNING = "running"


@dataclass(frozen=True)
class RecordedRun:
    """``complete``: the run came to its end. ``cells``: by id, in the order of their files."""

    path: Path
    complete: bool
    cells: dict[str, Measurement]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read ``path``, or the folder that the link ``path`` points to.

        Raises:
            ResultsError: it is no results folder, or holds no cell.
            MeasurementError: a cell's file is damaged or newer than this draftgate.
        """
        measured = {m.draftgate.subject.cell: m for m in _measurements(path)}
        if not measured:
            raise ResultsError(f"{path}: no cell was measured (cells/ is empty or absent)")
        return cls(path, _ended(path), measured)


def is_results_folder(path: Path) -> bool:
    """Whether a run of the gate wrote ``path``."""
    return (path / RUN).is_file() or (path / "cells").is_dir()


def _measurements(path: Path) -> Iterator[Measurement]:
    if not is_results_folder(path):
        raise ResultsError(f"{path} is no results folder: give one such as results/latest")
    for file in sorted((path / "cells").glob("*.json")):
        yield Measurement.read(file)


def _ended(path: Path) -> bool:
    try:
        facts = json.loads((path / RUN).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:
        raise ResultsError(f"{path / RUN}: {error}; the file is damaged, run again") from None
    return isinstance(facts, dict) and facts.get("exit_reason", RUNNING) != RUNNING
