"""Composition: profile, engines, session, baselines and results of one pytest run."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from draftgate.baseline.errors import BaselineError
from draftgate.baseline.schema import Provenance as BaselineProvenance
from draftgate.baseline.store import BaselineStore
from draftgate.baseline.update import Action, Decision, UpdatePolicy, UpdateRequest, ci_refusal
from draftgate.engine.errors import EngineError
from draftgate.engine.fingerprint import fingerprint, provenance
from draftgate.engine.protocol import EngineInfo
from draftgate.measure.arms import Arms
from draftgate.measure.record import Machine, Provenance
from draftgate.measure.session import Measured, Session
from draftgate.plugin.candidates import candidates
from draftgate.plugin.options import Options
from draftgate.plugin.progress import ProgressLine
from draftgate.reporting.results_folder import ResultsError, ResultsFolder
from draftgate.verdict.cell import CellJudge
from draftgate.verdict.equality import OUTPUTS_EQUAL_CONTROL
from draftgate.verdict.kinds import FailurePolicy, VerdictKind
from draftgate.verdict.verdict import Verdict
from draftgate.workload.errors import WorkloadError

if TYPE_CHECKING:
    from draftgate.profile.cells import Cell, Scenario
    from draftgate.profile.model import Profile


@dataclass
class Gate:
    """What the fixtures and hooks share. Built by `draftgate.plugin.build`."""

    options: Options
    profile: Profile
    cells: Sequence[Cell]
    arms: Arms
    session: Session
    store: BaselineStore
    folder: ResultsFolder
    progress: ProgressLine
    verdicts: list[Verdict] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    unusable: list[str] = field(default_factory=list)
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    engines_ready_s: float = 0.0
    _written: set[str] = field(default_factory=set)
    _shown: set[str] = field(default_factory=set)

    @property
    def policy(self) -> FailurePolicy:
        """What fails besides a regression."""
        return FailurePolicy(
            require_baseline=self.options.requires_baseline(self.profile.fingerprint)
        )

    def start_engines(self) -> None:
        """Start every engine that the selected cells need, before anything is timed."""
        began = time.monotonic()
        wanted = [s for cell in self.cells for s in (cell.control.scenario, cell.scenario)]
        self.arms.start(dict.fromkeys(wanted), self.progress.engine_changed)
        self.engines_ready_s = time.monotonic() - began

    def measured(self, cell: Cell) -> Measured:
        """The cell's measurement; its file is written as soon as it is there."""
        measured = self.session.measured(cell)
        if cell.id not in self._written:
            self.folder.write_cell(measured.measurement)
            self._written.add(cell.id)
        return measured

    def judge(self, cell: Cell, metric: str) -> Verdict:
        """Judge one metric and keep the verdict."""
        measured = self.measured(cell)
        machine = measured.measurement.draftgate.machine
        verdict = CellJudge(
            measured.measurement,
            tuple(f"{b.identity}: {b.detail}" for b in measured.broken),
            self.store.exact(cell.id, machine.isa_class),
            self.store.timed(cell.id, machine.key),
            self.profile.limits.stated(),
        ).judge(metric)
        self.verdicts.append(verdict)
        return verdict

    def fails(self, verdict: Verdict) -> bool:
        """Whether the verdict fails its test.

        A run that updates baselines does not judge against those it is about to replace; broken
        identities and unequal outputs fail it all the same.
        """
        if self.options.update and verdict.metric != OUTPUTS_EQUAL_CONTROL:
            return verdict.verdict is VerdictKind.INVALID
        return verdict.fails(self.policy)

    @contextmanager
    def failing_clearly(self) -> Iterator[None]:
        """Turn the rooms' errors into test failures without a traceback.

        The log of a failed engine is shown once; its other tests give the first line only.
        """
        try:
            yield
        except (EngineError, WorkloadError, BaselineError, ResultsError) as error:
            text = str(error)
            first_time = text not in self._shown
            self._shown.add(text)
            pytest.fail(text if first_time else text.splitlines()[0], pytrace=False)

    def finish(self, exitstatus: int) -> int:
        """End the engines, update baselines, write the run's files; returns the exit status."""
        self.arms.close()
        self.update_baselines(session_failed=exitstatus != 0)
        refused = any(d.action is Action.REFUSED for d in self.decisions)
        if (refused or self.unusable) and exitstatus == 0:
            exitstatus = int(pytest.ExitCode.TESTS_FAILED)
        self.write_run(_reason(exitstatus))
        return exitstatus

    def update_baselines(self, session_failed: bool) -> None:
        """Write what ``--update-baselines`` asks for."""
        if self.options.update is None:
            return
        software = provenance(Path.cwd())
        refusal = ci_refusal(os.environ, self.options.baseline_dir, Path.cwd())
        request = UpdateRequest(
            UpdatePolicy(self.options.update),
            BaselineProvenance(
                commit=software.commit or "unknown",
                date=datetime.now(UTC).date().isoformat(),
                vllm=software.vllm or "unknown",
                torch=software.torch or "unknown",
                reason=f"pytest --update-baselines={self.options.update}",
            ),
            accept_regression=self.options.accept_regression,
            refusal=refusal or ("the session failed" if session_failed else None),
        )
        found, self.unusable = candidates(self.session.all_measured(), self.profile.limits.stated())
        self.decisions = self.store.update(found, request)

    def write_run(self, exit_reason: str) -> None:
        """Write `verdicts.json` and `run.json`."""
        self.folder.write_verdicts(self.verdicts)
        self.folder.write_run(
            {
                "profile": self.profile.name,
                "cells": [cell.id for cell in self.cells],
                "fingerprint": fingerprint().model_dump(mode="json"),
                "provenance": provenance(Path.cwd()).model_dump(mode="json"),
                "started": self.started.isoformat(),
                "ended": datetime.now(UTC).isoformat(),
                "engine_starts": self.arms.starts,
                "engines_ready_s": round(self.engines_ready_s, 1),
                "exit_reason": exit_reason,
            }
        )


def _reason(exitstatus: int) -> str:
    try:
        return pytest.ExitCode(exitstatus).name.lower()
    except ValueError:
        return f"exit status {exitstatus}"


def describe(scenario: Scenario, info: EngineInfo) -> tuple[Machine, Provenance]:
    """Machine and provenance of a measurement, from its engine's own facts."""
    found = fingerprint()
    software = provenance(Path.cwd())
    models: dict[str, str | None] = {scenario.target.model: scenario.target.revision}
    config: dict[str, Any] = scenario.variant.speculative_config or {}
    if isinstance(draft := config.get("model"), str):
        models[draft] = config.get("revision")
    return (
        Machine(key=found.key, isa_class=info.isa_class, fields=dict(found.fields)),
        Provenance(
            vllm=info.vllm,
            torch=info.torch,
            draftgate=software.draftgate,
            python=info.python,
            commit=software.commit,
            models=models,
        ),
    )
