"""A baseline file as text that diffs well; one canonical form: equal content, equal bytes."""

from __future__ import annotations

import json
from typing import Any

from draftgate.baseline.schema import ExactFile, TimedFile

ONE_LINE_DEPTH = 4  # file > cells > cell > metrics > metric: a metric's samples stay on its line


def render(file: ExactFile | TimedFile) -> str:
    """Sorted keys, a line a metric, nothing for what is empty, newline at the end."""
    return _render(_without_empty(file.model_dump(mode="json")), 0) + "\n"


def _render(value: Any, depth: int) -> str:
    if not isinstance(value, dict) or depth >= ONE_LINE_DEPTH or not value:
        return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    indent = "  " * (depth + 1)
    lines = [
        f"{indent}{json.dumps(key, ensure_ascii=False)}: {_render(value[key], depth + 1)}"
        for key in sorted(value)
    ]
    return "{\n" + ",\n".join(lines) + "\n" + "  " * depth + "}"


def _without_empty(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    kept = {key: _without_empty(inner) for key, inner in value.items()}
    return {key: inner for key, inner in kept.items() if inner not in (None, "", {})}
