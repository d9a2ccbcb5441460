"""Reading a profile file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from draftgate.profile.checks import first_problem
from draftgate.profile.errors import ProfileError
from draftgate.profile.hints import shown
from draftgate.profile.locate import locate_profile
from draftgate.profile.model import SCHEMA_VERSION, Profile
from draftgate.profile.schema_errors import from_validation


def load_profile(name_or_path: str | Path) -> Profile:
    """Read and check the profile `auto|NAME|PATH`. Raises `ProfileError`, the first fault only."""
    path = locate_profile(name_or_path)
    return parse_profile(_read(path), str(path))


def parse_profile(data: Mapping[str, Any], source: str) -> Profile:
    """Check the parsed TOML of ``source``, which only names the file in messages."""
    _check_version(data, source)
    try:
        profile = Profile.model_validate(data)
    except ValidationError as error:
        raise from_validation(error, data, source) from None
    if problem := first_problem(profile):
        raise problem.error(data, source)
    return profile


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ProfileError(
            str(path), "", "not valid TOML", found=str(error), remedy="correct that line"
        ) from None
    except UnicodeDecodeError as error:
        raise ProfileError(
            str(path), "", "not UTF-8", found=str(error), remedy="save the file as UTF-8"
        ) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise ProfileError(
            str(path), "", "cannot be read", found=reason, remedy="check the file's permissions"
        ) from None


def _check_version(data: Mapping[str, Any], source: str) -> None:
    """First of all, because a newer file may have keys that are unknown here."""
    version = data.get("schema_version")
    if type(version) is int and 1 <= version <= SCHEMA_VERSION:
        return
    newer = type(version) is int and version > SCHEMA_VERSION
    problem = "newer than this draftgate" if newer else "not a schema version"
    remedy = (
        "update draftgate, or write the profile in the older schema"
        if newer
        else f"write schema_version = {SCHEMA_VERSION} at the top of the file"
    )
    if "schema_version" not in data:
        problem = "missing key"
    raise ProfileError(
        source,
        "schema_version",
        problem,
        found=shown(version) if "schema_version" in data else "",
        allowed=str(SCHEMA_VERSION),
        remedy=remedy,
    )
