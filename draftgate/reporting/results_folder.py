"""The folder of one run: `run.json`, `cells/*.json`, `verdicts.json`, and the link `latest`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from draftgate.measure.atomic import write_text
from draftgate.measure.record import Measurement
from draftgate.verdict.verdict import Verdict

DEFAULT_PARENT = Path("results")
LATEST = "latest"


class ResultsError(Exception):
    """The results cannot be written; names the folder and the remedy."""


@dataclass(frozen=True)
class ResultsFolder:
    """Writes results as they come, so that an interrupted run keeps what it measured."""

    path: Path

    @classmethod
    def create(cls, wanted: Path | None, now: datetime | None = None) -> ResultsFolder:
        """``wanted``, or ``results/<UTC time>`` with ``results/latest`` linking to it.

        Raises:
            ResultsError: it cannot be created or written to, or holds another run.
        """
        moment = (now or datetime.now(UTC)).strftime("%Y-%m-%dT%H-%M-%SZ")
        folder = cls(wanted or DEFAULT_PARENT / moment)
        if (folder.path / "run.json").exists():
            raise ResultsError(
                f"{folder.path} already holds the results of a run; "
                "remove it or give another folder with --perf-json DIR"
            )
        with folder._explaining():
            (folder.path / "cells").mkdir(parents=True, exist_ok=True)
            write_text(folder.path / "verdicts.json", "[]\n")  # fails now, not after an hour
            if wanted is None:
                _link_latest(folder.path)
        return folder

    def write_cell(self, measurement: Measurement) -> None:
        """Keep one cell's measurement."""
        name = measurement.draftgate.subject.cell.replace("/", "-") + ".json"
        with self._explaining():
            measurement.write(self.path / "cells" / name)

    def write_verdicts(self, verdicts: Sequence[Verdict]) -> None:
        """Keep the verdicts so far, as flat records."""
        records = [verdict.record() for verdict in verdicts]
        with self._explaining():
            write_text(self.path / "verdicts.json", json.dumps(records, indent=1) + "\n")

    def write_run(self, facts: dict[str, Any]) -> None:
        """Keep the run's own facts: profile, fingerprint, provenance, start, end, exit reason."""
        with self._explaining():
            write_text(self.path / "run.json", json.dumps(facts, indent=1, sort_keys=True) + "\n")

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


def _link_latest(folder: Path) -> None:
    """Point ``latest`` at ``folder``; atomically, since two runs may start together."""
    link, fresh = folder.parent / LATEST, folder.parent / f".{LATEST}-{os.getpid()}"
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(folder.name)
    fresh.replace(link)
