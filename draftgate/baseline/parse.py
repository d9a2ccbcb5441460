"""Text of a baseline file -> checked model, or one `BaselineError`: what is wrong, and where."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from draftgate.baseline.errors import BaselineError, refused
from draftgate.baseline.migrations import STEPS, Step, migrate
from draftgate.baseline.schema import ExactFile, TimedFile

File = TypeVar("File", ExactFile, TimedFile)

_CONFLICT = re.compile(r"^(<{7}|\|{7}|={7}|>{7})( |$)", re.MULTILINE)


def parse(
    text: str, path: Path, schema: type[File], scenario: str, steps: Mapping[int, Step] = STEPS
) -> File:
    """Check everything a hand edit or a merge can break; raises BaselineError.

    ``steps``: the migrations of older schemas.
    """
    if conflict := _CONFLICT.search(text):
        line = text.count("\n", 0, conflict.start()) + 1
        raise BaselineError(path, f"merge conflict in line {line}", remedy="resolve the merge")
    data = migrate(_json(text, path), path, steps)
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
    except (ValueError, RecursionError) as error:
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
