"""Reads a run's folder back, and refuses one that would make a report untrue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from draftgate.measure.metrics import higher_is_better
from draftgate.measure.record import Measurement, MeasurementError
from draftgate.reporting.results_folder import RUN, VERDICTS, ResultsError
from draftgate.reporting.run_files import is_finished, read_json
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.verdict import Verdict

_RUN_SCHEMA_VERSION = 1
_VERDICT_KEYS = frozenset(field.name for field in fields(Verdict))
_VERDICT = TypeAdapter(Verdict)


@dataclass(frozen=True)
class Run:
    """A run as it stands in its folder. ``facts``: `run.json` as written; untrusted text."""

    path: Path
    facts: dict[str, Any]
    measurements: tuple[Measurement, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def finished(self) -> bool:
        """Whether the run went through all it had set out to do."""
        return is_finished(self.facts)


def read_run(path: Path, partial: bool = False) -> Run:
    """The run in folder ``path``.

    ``partial`` accepts a run that did not finish. Raises ResultsError, naming file and remedy: no
    results folder, an unfinished run, no cell, cells of several runs, a damaged or newer file.
    """
    if not path.is_dir():
        kind = "is a file" if path.exists() else "does not exist"
        raise ResultsError(f"{path} {kind}; give the folder of a run, such as results/latest")
    facts = _facts(path / RUN)
    run = Run(path, facts, _measurements(path / "cells"), _verdicts(path / VERDICTS))
    if not run.finished and not partial:
        raise ResultsError(
            f"{path}: the run did not finish (exit reason {facts.get('exit_reason')!r}, "
            f"{len(run.measurements)} cells measured); run it again, or accept what there is with "
            "--partial"
        )
    if not run.measurements:
        raise ResultsError(f"{path}: no cell was measured; see its verdicts.json for the reasons")
    _require_one_run(run)
    return run


def _facts(path: Path) -> dict[str, Any]:
    facts = read_json(path, dict)
    version = facts.get("schema_version", _RUN_SCHEMA_VERSION)
    if not isinstance(version, int) or version > _RUN_SCHEMA_VERSION:
        raise ResultsError(
            f"{path}: schema_version {version!r} is newer than this draftgate reads "
            f"(up to {_RUN_SCHEMA_VERSION}); upgrade draftgate"
        )
    return facts


def _measurements(folder: Path) -> tuple[Measurement, ...]:
    try:
        found = (Measurement.read(file) for file in sorted(folder.glob("*.json")))
        return tuple(sorted(found, key=lambda measured: measured.draftgate.started))
    except MeasurementError as error:
        raise ResultsError(str(error)) from None


def _verdicts(path: Path) -> tuple[Verdict, ...]:
    records = enumerate(read_json(path, list))
    return tuple(_verdict(path, index, record) for index, record in records)


def _verdict(path: Path, index: int, record: Any) -> Verdict:
    if not isinstance(record, dict) or not {"cell", "metric", "verdict"} <= record.keys():
        raise ResultsError(f"{path}: [{index}] has no cell, metric and verdict; run again")
    if record["verdict"] not in list(VerdictKind):
        raise ResultsError(
            f"{path}: [{index}].verdict is unknown to this draftgate; there are "
            f"{', '.join(VerdictKind)}: upgrade draftgate"
        )
    told = {k: v for k, v in record.items() if k in _VERDICT_KEYS and v is not None}
    try:
        verdict = _VERDICT.validate_python(told)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise ResultsError(
            f"{path}: [{index}].{key}: {first['msg']}; the folder is damaged, run again"
        ) from None
    return replace(verdict, higher_is_better=higher_is_better(verdict.metric))


def _require_one_run(run: Run) -> None:
    """One machine, one software, one span of time; otherwise cells were copied together."""
    first = run.measurements[0].draftgate
    began, ended = (_time(run.facts.get(key)) for key in ("started", "ended"))
    for measured in run.measurements[1:]:
        block = measured.draftgate
        for what, mine, other in (
            ("machine", first.machine.key, block.machine.key),
            ("vllm", first.provenance.vllm, block.provenance.vllm),
            ("torch", first.provenance.torch, block.provenance.torch),
            ("commit", first.provenance.commit, block.provenance.commit),
        ):
            if mine != other:
                raise _mixed(run.path, f"{what} is {mine} in one cell and {other} in another")
    outside = [
        measured.draftgate.subject.cell
        for measured in run.measurements
        if (began and measured.draftgate.started < began)
        or (ended and measured.draftgate.ended > ended)
    ]
    if outside:
        raise _mixed(run.path, f"{outside[0]} was measured outside the run's time")
    _require_distinct(run.path, [measured.draftgate.subject.cell for measured in run.measurements])


def _require_distinct(path: Path, cells: Sequence[str]) -> None:
    twice = sorted({cell for cell in cells if cells.count(cell) > 1})
    if twice:
        raise _mixed(path, f"{twice[0]} is there twice")


def _mixed(path: Path, why: str) -> ResultsError:
    return ResultsError(
        f"{path} mixes several runs: {why}; keep each run's cells in its own folder"
    )


def _time(value: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
