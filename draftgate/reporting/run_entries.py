"""The history's lines of a results folder."""

from __future__ import annotations

from pathlib import Path

from draftgate.measure.record import Measurement
from draftgate.reporting.history import Entry, HistoryError, entry_of
from draftgate.reporting.results_folder import RUN, VERDICTS
from draftgate.reporting.run_files import read_json
from draftgate.verdict.kinds import VerdictKind


def entries_of(folder: Path) -> list[Entry]:
    """A line for every cell that was measured soundly.

    Raises HistoryError on what is no finished run or has a planted fault, ResultsError and
    MeasurementError on damaged files.
    """
    facts = read_json(folder / RUN, dict)
    if not facts.get("started"):
        raise HistoryError(f"{folder}: its run has not finished")
    if "fault" in facts:
        raise HistoryError(f"{folder}: a fault was planted, so its times are not vLLM's")
    verdicts = read_json(folder / VERDICTS, list)
    broken = {v["cell"] for v in verdicts if v.get("verdict") == VerdictKind.INVALID.value}
    measured = map(Measurement.read, sorted((folder / "cells").glob("*.json")))
    return [
        entry_of(str(facts["started"]), measurement)
        for measurement in measured
        if measurement.draftgate.subject.cell not in broken
    ]
