"""pydantic's errors, retold as one `ProfileError`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from draftgate.profile.errors import ProfileError
from draftgate.profile.hints import did_you_mean, shown
from draftgate.profile.model import Profile

Location = Sequence[str | int]


def from_validation(error: ValidationError, data: Mapping[str, Any], source: str) -> ProfileError:
    """The first fault of ``error``, and how many more there are.

    A misspelt key is told before the missing key that it leaves behind.
    """
    faults = sorted(_own(error.errors()), key=lambda fault: fault["type"] != "extra_forbidden")
    first = faults[0]
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    key = key_path(data, first["loc"])
    match first["type"]:
        case "extra_forbidden":
            return _unknown_key(first, key, source, more)
        case "missing":
            remedy = f"add {first['loc'][-1]!r}"
            return ProfileError(source, key, f"missing key{more}", remedy=remedy)
        case _:
            return _bad_value(first, key, source, more)


def _own(faults: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """Without a list's "too short" that only follows from its faulty elements."""
    inner = [fault["loc"] for fault in faults]
    return [
        fault
        for fault in faults
        if not any(len(loc) > (n := len(fault["loc"])) and loc[:n] == fault["loc"] for loc in inner)
    ]


def key_path(data: Any, location: Location) -> str:
    """``targets[llama-tiny].variants[1].name``: a list's element by its name where it has one."""
    text, here = "", data
    for step in location:
        here = _child(here, step)
        if isinstance(step, int):
            name = here.get("name") if isinstance(here, Mapping) else None
            text += f"[{name if isinstance(name, str) else step}]"
        else:
            text += f".{step}" if text else step
    return text


def _child(value: Any, step: str | int) -> Any:
    try:
        return value[step]
    except (KeyError, IndexError, TypeError):
        return None


def _unknown_key(fault: ErrorDetails, key: str, source: str, more: str) -> ProfileError:
    known = _fields_at(fault["loc"][:-1])
    return ProfileError(
        source,
        key,
        f"unknown key{more}",
        found=shown(fault["input"]),
        allowed=known,
        remedy=did_you_mean(fault["loc"][-1], known, "remove it, or spell it as one of these"),
    )


def _bad_value(fault: ErrorDetails, key: str, source: str, more: str) -> ProfileError:
    context = fault.get("ctx", {})
    if fault["type"] == "literal_error":
        allowed = str(context["expected"]).replace("'", "").replace(" or ", ", ")
        remedy = did_you_mean(fault["input"], allowed.split(", "), "choose one of these")
        problem = f"unknown {_singular(fault['loc'])}"
    else:
        allowed, remedy, problem = _rule(fault), "correct the value", "value not allowed"
    return ProfileError(
        source, key, problem + more, found=shown(fault["input"]), allowed=allowed, remedy=remedy
    )


def _rule(fault: ErrorDetails) -> str:
    """pydantic's sentence as a description of what is allowed."""
    if fault["type"] == "string_pattern_mismatch":
        return "lower-case letters, digits, '.', '_' and '-', starting with a letter or digit"
    return fault["msg"].removeprefix("Input should be ").removeprefix("a ")


def _singular(location: Location) -> str:
    words = [step for step in location if isinstance(step, str)]
    if words[-1] == "name" and len(words) > 1:
        return words[-2].removesuffix("s")
    return words[-1].removesuffix("s")


def _fields_at(location: Location) -> tuple[str, ...]:
    """The keys that the table at ``location`` may have."""
    model: type[BaseModel] = Profile
    for step in location:
        if isinstance(step, str):
            model = _model_in(model.model_fields[step].annotation) or model
    return tuple(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The record inside ``tuple[X, ...]`` or ``X | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((m for a in get_args(annotation) if (m := _model_in(a))), None)
