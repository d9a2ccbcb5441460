"""Reading and writing one baseline file; only the store's folder lock makes writing safe."""

from __future__ import annotations

from pathlib import Path

from draftgate.baseline.errors import BaselineError
from draftgate.baseline.parse import File, parse
from draftgate.baseline.place import Kind, Place
from draftgate.baseline.schema import ExactFile, TimedFile
from draftgate.measure.atomic import remove_leftovers, write_text

WRITABLE = "make it writable or choose another folder with --baseline-dir"


def load(path: Path, schema: type[File], scenario: str) -> File | None:
    """The checked file, None where there is none; raises BaselineError."""
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


def read(place: Place) -> ExactFile | TimedFile | None:
    """`load`, with the schema that the place asks for."""
    if place.kind is Kind.EXACT:
        return load(place.path, ExactFile, place.scenario)
    return load(place.path, TimedFile, place.scenario)


def write(path: Path, text: str) -> None:
    """Replace the file at once and whole; what killed writers left beside it is removed."""
    try:
        write_text(path, text)
        remove_leftovers(path)
    except OSError as error:
        raise BaselineError(path, error.strerror or str(error), remedy=WRITABLE) from error
