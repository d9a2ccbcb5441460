"""The one error of this room."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

RESTORE = "restore it from version control, or delete it and run --update-baselines=new"

UPGRADE = "upgrade draftgate"


class BaselineError(Exception):
    """A baseline that cannot be read, written or addressed: file, key, problem, remedy."""

    def __init__(self, path: Path | str, problem: str, *, key: str = "", remedy: str = RESTORE):
        self.path = str(path)
        self.key = key
        named = f"key {key}: " if key else ""
        super().__init__(f"baseline {path}: {named}{problem}; {remedy}")


def refused(error: ValidationError, path: Path | str, remedy: str = RESTORE) -> BaselineError:
    """Pydantic's first complaint as a `BaselineError`."""
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"] if part != "[key]")
    found = first["input"]
    shown = f", not {found!r}" if isinstance(found, str | int | float) else ""
    message = first["msg"].removeprefix("Value error, ")
    return BaselineError(path, f"{message}{shown}", key=key, remedy=remedy)
