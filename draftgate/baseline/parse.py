"""Text of a baseline file -> checked model, or one `BaselineError`: what is wrong, and where."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from draftgate.baseline.errors import UPGRADE, BaselineError, refused
from draftgate.baseline.schema import SCHEMA_VERSION, ExactFile, TimedFile

File = TypeVar("File", ExactFile, TimedFile)

_CONFLICT = re.compile(r"^(<{7}|\|{7}|={7}|>{7})( |$)", re.MULTILINE)


def parse(text: str, path: Path, schema: type[File], scenario: str) -> File:
    """Check everything a hand edit or a merge can break; raises BaselineError."""
    if conflict := _CONFLICT.search(text):
        line = text.count("\n", 0, conflict.start()) + 1
        raise BaselineError(path, f"merge conflict in line {line}", remedy="resolve the merge")
    data = _json(text, path)
    _require_known_version(data, path)
    try:
        file = schema.model_validate(data)
    except ValidationError as error:
        raise refused(error, path) from None
    if file.scenario != scenario:
        problem = f"{file.scenario!r} in the file of {scenario!r}"
        raise BaselineError(
            path, problem, key="scenario", remedy="move the file or correct the key"
        )
    return file


def _json(text: str, path: Path) -> dict[str, Any]:
    try:
        data = json.loads(text, parse_constant=_refuse, object_pairs_hook=_unique)
    except ValueError as error:
        raise BaselineError(path, f"not readable as JSON ({error})") from None
    if not isinstance(data, dict):
        raise BaselineError(path, "not a JSON object")
    return data


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number to compare with")


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """A merge can leave a key twice; `json` would silently keep the second."""
    data = dict(pairs)
    if len(data) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"key {twice!r} stands twice")
    return data


def _require_known_version(data: dict[str, Any], path: Path) -> None:
    version = data.get("schema_version")
    if type(version) is not int or version < 1:
        raise BaselineError(path, f"{version!r} is not a version", key="schema_version")
    if version > SCHEMA_VERSION:
        problem = f"{version} is newer than this draftgate reads (up to {SCHEMA_VERSION})"
        raise BaselineError(path, problem, key="schema_version", remedy=UPGRADE)
