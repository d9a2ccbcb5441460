"""Writing a report's file."""

from __future__ import annotations

from pathlib import Path

from draftgate.measure.atomic import write_text
from draftgate.reporting.report.errors import ReportError


def write_report(path: Path, text: str) -> None:
    """Write atomically; raises ReportError where that cannot be done."""
    try:
        write_text(path, text)
    except OSError as error:
        raise ReportError(
            f"cannot write {path}: {error.strerror}; give a writable file with -o"
        ) from None
