"""JSON lines, each with its number, so that an error can say where it stands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from draftgate.analysis.errors import TraceError


@dataclass(frozen=True)
class Line:
    """One object of a file. Messages never quote its content: it may be hostile or huge."""

    path: Path
    number: int
    data: dict[str, Any]

    def error(self, problem: str, remedy: str) -> TraceError:
        """The problem, with file and line."""
        return TraceError(f"{self.path}: line {self.number}: {problem}; {remedy}")


def read_lines(path: Path) -> Iterator[Line]:
    """The file's objects; blank lines are skipped.

    Raises TraceError: unreadable file, no line at all, or a line that is not a JSON object.
    """
    try:
        with path.open("rb") as file:
            empty = True
            for number, raw in enumerate(file, start=1):
                if raw.strip():
                    empty = False
                    yield _parse(path, number, raw)
    except IsADirectoryError:
        raise TraceError(f"{path} is a folder; give the files in it") from None
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror}; give a trace, a chat log or a cell") from None
    if empty:
        raise TraceError(f"{path} is empty; a trace has one JSON object a line")


def _parse(path: Path, number: int, raw: bytes) -> Line:
    try:
        data = json.loads(raw)
    except json.JSONDecodeError as error:
        raise _not_json(path, number, f"{error.msg} at column {error.colno}") from None
    except (ValueError, RecursionError) as error:  # not UTF-8, a number too long, nesting too deep
        raise _not_json(path, number, type(error).__name__) from None
    if not isinstance(data, dict):
        raise _not_json(path, number, "not an object")
    return Line(path, number, data)


def _not_json(path: Path, number: int, why: str) -> TraceError:
    return TraceError(
        f"{path}: line {number}: not a JSON object ({why}); every line holds one whole record"
    )
