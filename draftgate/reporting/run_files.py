"""The JSON files of a run's folder, read back; and whether the run came to its end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from draftgate.reporting.results_folder import ResultsError

UNFINISHED = frozenset({"running", "interrupted", "internal_error"})
"""Exit reasons of a run that may have measured anything between nothing and all."""

Kind = TypeVar("Kind", dict[str, Any], list[Any])


def read_json(path: Path, kind: type[Kind]) -> Kind:
    """The object or list in ``path``; raises ResultsError, naming file and remedy."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ResultsError(
            f"{path}: {error.strerror}; give the folder of a run, such as results/latest"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ResultsError(
            f"{path}: not JSON ({type(error).__name__}); the folder is damaged, run again"
        ) from None
    if not isinstance(data, kind):
        wanted = "object" if issubclass(kind, dict) else "list"
        raise ResultsError(f"{path}: holds no {wanted}; the folder is damaged, run again")
    return data


def is_finished(facts: Mapping[str, Any]) -> bool:
    """Whether a run (its `run.json`) went through all it had set out to do."""
    return str(facts.get("exit_reason", "running")) not in UNFINISHED
