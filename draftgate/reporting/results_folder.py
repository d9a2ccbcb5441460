"""The folder of one run: `run.json`, `cells/*.json`, `verdicts.json` and `sensitivity.json` (how
small a loss each timed verdict would have found), and the link `latest`.

Beside a reference also `pairs/*.json` and `reference/cells/*.json`.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from draftgate.measure.atomic import write_text
from draftgate.measure.bound import Bound
from draftgate.measure.pairs import MetricPairs
from draftgate.measure.record import Measurement
from draftgate.verdict.verdict import Verdict

DEFAULT_PARENT = Path("results")
LATEST = "latest"
RUN = "run.json"
VERDICTS = "verdicts.json"
PAIRS_SCHEMA_VERSION = 2


class ResultsError(Exception):
    """The results cannot be written; names the folder and the remedy."""


@dataclass(frozen=True)
class ResultsFolder:
    """Writes results as they come, so that an interrupted run keeps what it measured."""

    path: Path

    @classmethod
    def create(cls, wanted: Path | None, now: datetime | None = None) -> ResultsFolder:
        """``wanted``, or ``results/<UTC time>`` with ``results/latest`` linking to it.

        It is this run's alone from here on: `run.json` stands in it with exit reason `running`.

        Raises:
            ResultsError: it cannot be created or written to, or holds another run.
        """
        path = wanted or _unused(now or datetime.now(UTC))
        folder = cls(path)
        with folder._explaining():
            (path / "cells").mkdir(parents=True, exist_ok=True)
            try:
                (path / RUN).touch(exist_ok=False)  # atomic, unlike asking first
            except FileExistsError:
                raise ResultsError(
                    f"{path} already holds the results of a run; "
                    "remove it or give another folder with --perf-json DIR"
                ) from None
            folder.write_run({"exit_reason": "running"})  # a full disk fails now, not in an hour
            folder.write_verdicts(())
            if wanted is None:
                _link_latest(path)
        return folder

    def write_cell(self, measurement: Measurement) -> None:
        """Keep one cell's measurement."""
        name = measurement.draftgate.subject.cell.replace("/", "-") + ".json"
        with self._explaining():
            measurement.write(self.path / "cells" / name)

    @property
    def reference(self) -> ResultsFolder:
        """The folder of what was measured on the reference, laid out like this one."""
        return ResultsFolder(self.path / "reference")

    def write_pairs(self, cell: str, starts: Sequence[Mapping[str, MetricPairs]]) -> None:
        """Keep a cell's rounds beside the reference.

        For each start of the two sides: metric -> [under test, reference] a pair.
        """
        name = cell.replace("/", "-") + ".json"
        record = {"schema_version": PAIRS_SCHEMA_VERSION, "cell": cell, "starts": starts}
        with self._explaining():
            write_text(self.path / "pairs" / name, json.dumps(record) + "\n")

    def write_verdicts(self, verdicts: Sequence[Verdict]) -> None:
        """Keep the verdicts so far, as flat records."""
        records = [verdict.stored() for verdict in verdicts]
        with self._explaining():
            write_text(self.path / VERDICTS, json.dumps(records, indent=1) + "\n")

    def write_sensitivity(self, verdicts: Sequence[Verdict]) -> None:
        """Keep what the timed verdicts could have found: one record each, keyed as they are."""
        records = [
            {"cell": verdict.cell, "metric": verdict.metric, **verdict.sensitivity.record()}
            for verdict in verdicts
            if verdict.sensitivity
        ]
        with self._explaining():
            write_text(self.path / "sensitivity.json", json.dumps(records, indent=1) + "\n")

    def write_bounds(self, bounds: Sequence[Bound]) -> None:
        """Keep the measured bounds as flat records in ``bounds.json``."""
        records = [
            {**b.model_dump(mode="json", exclude={"stages"}), "speedup": b.speedup} for b in bounds
        ]
        with self._explaining():
            write_text(self.path / "bounds.json", json.dumps(records, indent=1) + "\n")

    def write_run(self, facts: dict[str, Any]) -> None:
        """Keep the run's own facts: profile, fingerprint, provenance, start, end, exit reason."""
        with self._explaining():
            write_text(self.path / RUN, json.dumps(facts, indent=1, sort_keys=True) + "\n")

    def _explaining(self) -> _Explaining:
        return _Explaining(self.path)


@dataclass(frozen=True)
class _Explaining:
    """Context in which an OSError becomes a ResultsError with folder and remedy."""

    path: Path

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, OSError):
            raise ResultsError(
                f"cannot write results to {self.path}: {error.strerror}; "
                "free space or give a writable folder with --perf-json DIR"
            ) from error


def _unused(now: datetime) -> Path:
    """The folder of this second, numbered where another run began in it too."""
    name = now.strftime("%Y-%m-%dT%H-%M-%SZ")
    names = itertools.chain([name], (f"{name}-{n}" for n in itertools.count(2)))
    return next(p for p in map(DEFAULT_PARENT.joinpath, names) if not p.exists())


def _link_latest(folder: Path) -> None:
    """Point ``latest`` at ``folder``; atomically, since two runs may start together."""
    link, fresh = folder.parent / LATEST, folder.parent / f".{LATEST}-{os.getpid()}"
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(folder.name)
    fresh.replace(link)
