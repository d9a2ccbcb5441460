"""From an older schema of a baseline file to the current one, a step a version.

To change the schema: raise `SCHEMA_VERSION`, change the models, add a step from the version before
to `STEPS`. A file is migrated when it is read and rewritten when one of its cells is updated, so a
checkout of an old release keeps reading its own files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from draftgate.baseline.errors import UPGRADE, BaselineError
from draftgate.baseline.schema import SCHEMA_VERSION

Step = Callable[[dict[str, Any]], dict[str, Any]]
"""A file's data in version n -> in version n + 1; need not set ``schema_version``."""

STEPS: Mapping[int, Step] = MappingProxyType({})
"""Version n -> the step to n + 1; without a gap up to `SCHEMA_VERSION`."""

KEY = "schema_version"


def migrate(data: dict[str, Any], path: Path, steps: Mapping[int, Step] = STEPS) -> dict[str, Any]:
    """``data`` in the current schema; raises BaselineError on a version that is not readable."""
    version = data.get(KEY)
    if type(version) is not int or version < min(steps, default=SCHEMA_VERSION):
        raise BaselineError(path, f"{version!r} is not a version", key=KEY)
    if version > SCHEMA_VERSION:
        problem = f"{version} is newer than this draftgate reads (up to {SCHEMA_VERSION})"
        raise BaselineError(path, problem, key=KEY, remedy=UPGRADE)
    for number in range(version, SCHEMA_VERSION):
        try:
            data = {**steps[number](data), KEY: number + 1}
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            problem = f"not what version {number} is ({error!r})"
            raise BaselineError(path, problem, key=KEY) from None
    return data
