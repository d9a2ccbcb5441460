"""The one error of this room."""

from __future__ import annotations

from pathlib import Path

RESTORE = "restore it from version control, or delete it and run --update-baselines=new"

UPGRADE = "upgrade draftgate"


class BaselineError(Exception):
    """A baseline that cannot be read, written or addressed; one line: file, key, problem, remedy."""

    def __init__(self, path: Path | str, problem: str, *, key: str = "", remedy: str = RESTORE):
        self.path = str(path)
        self.key = key
        named = f"key {key}: " if key else ""
        super().__init__(f"baseline {path}: {named}{problem}; {remedy}")
