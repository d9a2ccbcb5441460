"""What ``--perf-history`` does at the end of a run."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from draftgate.reporting.history import HistoryError, append, entry_of

if TYPE_CHECKING:
    from draftgate.measure.session import Measured


def append_history(path: Path | None, started: datetime, measured: Iterable[Measured]) -> str:
    """Append what was measured soundly; returns why it could not be done, or nothing."""
    if path is None:
        return ""
    sound = (item.measurement for item in measured if not item.broken)
    try:
        append(path, [entry_of(started.isoformat(), measurement) for measurement in sound])
    except HistoryError as error:
        return f"the history lacks this run: {error}"
    return ""
