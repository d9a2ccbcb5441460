"""Results folders of the shards of one run -> one folder, as if one machine had run it all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from draftgate.measure.atomic import write_text
from draftgate.reporting.results_folder import RUN, VERDICTS, ResultsError
from draftgate.reporting.run_files import is_finished, read_json

SAME = ("profile", "manifest", "fingerprint", "provenance", "reference", "fault")
"""Keys of `run.json` in which shards of one run agree."""


class MergeError(ResultsError):
    """Folders that do not make one run; names them and why."""


@dataclass(frozen=True)
class Part:
    """A results folder: the facts of its run, and its lists of records by file name.

    ``cells``: ids that the run was asked for. A control that it measured beside them is not one.
    """

    path: Path
    facts: dict[str, Any]
    lists: dict[str, list[Any]]
    cells: tuple[str, ...]

    @classmethod
    def read(cls, path: Path) -> Part:
        """Raises MergeError on a folder that holds no run that ended, ResultsError on damage."""
        facts = read_json(path / RUN, dict)
        names = {VERDICTS, *(file.name for file in path.glob("*.json"))} - {RUN}
        lists = {name: read_json(path / name, list) for name in sorted(names)}
        cells = facts.get("cells")
        if facts.get("exit_reason") == "running" or not isinstance(cells, list):
            raise MergeError(f"{path}: its run has not finished")
        return cls(path, facts, lists, tuple(map(str, cells)))

    def files(self, *, own: bool) -> dict[Path, Path]:
        """Files named after a cell: path in the folder -> path; ``own``: of the cells asked for."""
        asked = {cell.replace("/", "-") for cell in self.cells}
        found = (path for path in self.path.rglob("*.json") if path.parent != self.path)
        return {p.relative_to(self.path): p for p in found if (p.stem in asked) is own}


def merge(folders: Sequence[Path], target: Path) -> dict[str, Any]:
    """Merge into ``target``, which must not exist or be empty; the facts of the merged run.

    A cell's file is taken from the run that was asked for the cell; controls that several shards
    measured for their arms are kept once. Raises MergeError on a mix (another profile, machine or
    commit, a cell in two folders), on what cannot be read, or a target that cannot be written.
    """
    if len(folders) < 2:
        raise MergeError("give at least two results folders")
    parts = [Part.read(folder) for folder in folders]
    _require_one_run(parts)
    facts = _facts(parts)
    try:
        if target.exists() and any(target.iterdir()):
            raise MergeError(f"{target} is not empty; give another folder with -o")
        for place, source in _files(parts).items():
            (target / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target / place)
        for name in sorted({name for part in parts for name in part.lists}):
            records = [record for part in parts for record in part.lists.get(name, ())]
            write_text(target / name, json.dumps(records, indent=1) + "\n")
        write_text(target / RUN, json.dumps(facts, indent=1, sort_keys=True) + "\n")
    except OSError as error:
        raise MergeError(f"cannot write {target}: {error.strerror or error}") from error
    return facts


def _require_one_run(parts: Sequence[Part]) -> None:
    first = parts[0]
    for part in parts[1:]:
        for key in SAME:
            if (here := part.facts.get(key)) != (there := first.facts.get(key)):
                raise MergeError(
                    f"{part.path} and {first.path} are of different runs: "
                    f"{key} {_short(here)} and {_short(there)}"
                )
    owner: dict[str, Path] = {}
    for part in parts:
        for cell in part.cells:
            if cell in owner:
                raise MergeError(f"{part.path} and {owner[cell]} both measured {cell}")
            owner[cell] = part.path


def _exit_reason(parts: Sequence[Part]) -> str:
    """What is left of a half run's is half a run, whatever else the others say."""
    for part in parts:
        if not is_finished(part.facts):
            return str(part.facts["exit_reason"])
    reasons = dict.fromkeys(str(part.facts.get("exit_reason")) for part in parts)
    return ", ".join(reason for reason in reasons if reason != "ok") or "ok"


def _facts(parts: Sequence[Part]) -> dict[str, Any]:
    return {
        **parts[0].facts,
        "cells": [cell for part in parts for cell in part.cells],
        "shard": "",
        "merged": [str(part.facts.get("shard") or part.path) for part in parts],
        "started": min(str(part.facts.get("started")) for part in parts),
        "ended": max(str(part.facts.get("ended")) for part in parts),
        "engine_starts": sum(part.facts.get("engine_starts", 0) for part in parts),
        "engines_ready_s": max(part.facts.get("engines_ready_s", 0) for part in parts),
        "exit_reason": _exit_reason(parts),
    }


def _files(parts: Sequence[Part]) -> dict[Path, Path]:
    """Place -> source; a shard's own cells win over its neighbours' controls."""
    found: dict[Path, Path] = {}
    for own in (False, True):
        for part in parts:
            found |= part.files(own=own)
    return found


def _short(value: Any) -> str:
    """A fingerprint by its key, provenance by its commit and vLLM."""
    if isinstance(value, dict):
        named = {k: v for k, v in value.items() if k in ("key", "commit", "vllm", "dirty")}
        return json.dumps(named or value)
    return repr(value)
