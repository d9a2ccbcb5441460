"""The history: one JSON line a cell and run, appended, never rewritten."""

from __future__ import annotations

import fcntl
import json
import os
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from draftgate.measure.record import Measurement

SCHEMA_VERSION = 1

Number = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class HistoryError(Exception):
    """A history that cannot be read or written; names file, line and remedy."""


class Entry(BaseModel):
    """A cell in one run. ``run``: when it began. ``machine``: fingerprint; series never cross it.

    ``metrics``: medians of timed ones, and the acceptance of the first round.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    run: str
    machine: str
    commit: str
    vllm: str
    cell: str
    workload_hash: str
    metrics: dict[str, Number]

    @property
    def identity(self) -> tuple[str, str, str]:
        """What one line is about."""
        return self.run, self.machine, self.cell


def entry_of(run: str, measurement: Measurement) -> Entry:
    """The line of a measurement."""
    block = measurement.draftgate
    metrics = {name: statistics.median(values) for name, values in block.timed.items() if values}
    for name in ("acceptance_length", "tokens_per_step"):
        if (value := getattr(block.acceptance, name)) is not None:
            metrics[name] = value
    return Entry(
        run=run,
        machine=block.machine.key,
        commit=block.provenance.commit or "unknown",
        vllm=block.provenance.vllm,
        cell=block.subject.cell,
        workload_hash=block.subject.workload_hash,
        metrics=metrics,
    )


def append(path: Path, entries: Iterable[Entry]) -> int:
    """Add what is not there yet; how many lines. Safe with several writers.

    The half line of a writer that was killed is dropped. Raises HistoryError.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            _drop_half_line(file)
            file.seek(0)
            known = {entry.identity for entry in _parse(path, file.read())}
            fresh = [entry for entry in entries if entry.identity not in known]
            file.write("".join(entry.model_dump_json() + "\n" for entry in fresh).encode())
            file.flush()
            os.fsync(file.fileno())
            return len(fresh)
    except OSError as error:
        raise HistoryError(
            f"cannot write {path}: {error.strerror}; give a writable file"
        ) from error


def read(path: Path) -> list[Entry]:
    """All entries, by run; raises HistoryError on a missing file or a damaged line."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise HistoryError(
            f"{path}: {error.strerror}; `draftgate history add` or --perf-history make it"
        ) from None
    return sorted(_parse(path, data), key=lambda entry: entry.run)


def _parse(path: Path, data: bytes) -> list[Entry]:
    whole = data[: data.rfind(b"\n") + 1]
    return [_entry(path, i, line) for i, line in enumerate(whole.splitlines(), 1) if line.strip()]


def _entry(path: Path, number: int, line: bytes) -> Entry:
    try:
        record: Any = json.loads(line)
    except ValueError:
        raise HistoryError(f"{path}: line {number} is no JSON; delete the line") from None
    if isinstance(record, dict) and (version := record.get("schema_version")) != SCHEMA_VERSION:
        raise HistoryError(
            f"{path}: line {number}: schema_version {version!r} is not the one that this draftgate "
            f"reads ({SCHEMA_VERSION}); upgrade draftgate"
        )
    try:
        return Entry.model_validate(record)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise HistoryError(
            f"{path}: line {number}: key {key}: {first['msg']}; delete the line"
        ) from None


def _drop_half_line(file: BinaryIO) -> None:
    file.seek(0)
    end = file.read().rfind(b"\n") + 1
    file.truncate(end)


def series(entries: Iterable[Entry]) -> dict[tuple[str, str, str], list[Entry]]:
    """(machine, cell, metric) -> its runs in order; only those over the newest run's prompts."""
    found: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in entries:
        for metric in entry.metrics:
            found.setdefault((entry.machine, entry.cell, metric), []).append(entry)
    return {
        key: [entry for entry in runs if entry.workload_hash == runs[-1].workload_hash]
        for key, runs in sorted(found.items())
    }
