"""The history's lines of a results folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from draftgate.measure.record import Measurement
from draftgate.reporting.history import Entry, HistoryError, entry_of
from draftgate.reporting.results_folder import RUN, VERDICTS
from draftgate.verdict.kinds import VerdictKind


def entries_of(folder: Path) -> list[Entry]:
    """A line for every cell that was measured soundly.

    Raises HistoryError on what is no finished run, MeasurementError on a damaged cell.
    """
    facts = _json(folder / RUN)
    if not isinstance(facts, dict) or not facts.get("started"):
        raise HistoryError(f"{folder}: its run has not finished")
    verdicts = _json(folder / VERDICTS)
    broken = {v["cell"] for v in verdicts if v.get("verdict") == VerdictKind.INVALID.value}
    measured = map(Measurement.read, sorted((folder / "cells").glob("*.json")))
    return [
        entry_of(str(facts["started"]), measurement)
        for measurement in measured
        if measurement.draftgate.subject.cell not in broken
    ]


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise HistoryError(f"{path}: {error.strerror}; give the folder of a run") from None
    except ValueError as error:
        raise HistoryError(f"{path}: not JSON ({error})") from None
