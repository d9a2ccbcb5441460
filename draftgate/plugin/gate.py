"""Composition: profile, engines, session, baselines and results of one pytest run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from draftgate.baseline.errors import BaselineError
from draftgate.baseline.store import BaselineStore
from draftgate.baseline.update import UpdatePolicy
from draftgate.engine.errors import EngineError
from draftgate.measure.arms import Arms
from draftgate.measure.bound import Bound
from draftgate.measure.reference import twin
from draftgate.measure.session import Measured, MeasureError, Session
from draftgate.plugin.bounds import Bounds
from draftgate.plugin.history import append_history
from draftgate.plugin.memory import judge_memory
from draftgate.plugin.options import Options
from draftgate.plugin.progress import ProgressLine
from draftgate.plugin.pruning import Pruned, prune_baselines
from draftgate.plugin.reference_stage import ReferenceStage
from draftgate.plugin.surroundings import Surroundings
from draftgate.plugin.updating import Updated, update_baselines
from draftgate.profile.cells import Cell
from draftgate.profile.model import Profile
from draftgate.reporting.results_folder import ResultsError, ResultsFolder
from draftgate.verdict.cell import CellJudge
from draftgate.verdict.evidence import RunFacts
from draftgate.verdict.facts import CellFacts
from draftgate.verdict.kinds import ALWAYS_FAILING, FailurePolicy, VerdictKind
from draftgate.verdict.manifest import IDENTITIES, WITHOUT_STORE
from draftgate.verdict.precondition import precondition
from draftgate.verdict.rule import TimedRule
from draftgate.verdict.verdict import Verdict
from draftgate.workload.errors import WorkloadError

EXPLAINED = (EngineError, WorkloadError, BaselineError, MeasureError)
"""Errors whose message is complete: they fail a test without a traceback."""

MEASUREMENT = "measurement"


@dataclass
class Gate:
    """What the fixtures and hooks share. Built by `draftgate.plugin.build`.

    ``unwritten``: why the results folder lacks something that was measured, empty where it does
    not; writing is tried again with every test and at the end.
    """

    options: Options
    profile: Profile
    cells: Sequence[Cell]
    arms: Arms
    session: Session
    store: BaselineStore
    folder: ResultsFolder
    progress: ProgressLine
    surroundings: Surroundings
    rule: TimedRule
    reference: ReferenceStage | None = None
    verdicts: list[Verdict] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)
    updated: Updated = field(default_factory=Updated)
    pruned: Pruned = field(default_factory=Pruned)
    unwritten: str = ""
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    engines_ready_s: float = 0.0
    _written: set[str] = field(default_factory=set)
    _shown: set[str] = field(default_factory=set)

    def start_engines(self) -> None:
        """Start every engine that the selected cells need, before anything is timed."""
        began = time.monotonic()
        wanted = [s for cell in self.cells for s in (cell.control.scenario, cell.scenario)]
        if self.reference is not None:
            wanted += [twin(scenario) for scenario in wanted]
        self.arms.start(dict.fromkeys(wanted), self.progress.engine_changed)
        self.engines_ready_s = time.monotonic() - began

    def measured(self, cell: Cell) -> Measured:
        """The cell's measurement, written as soon as it is there. Raises one of `EXPLAINED`."""
        measured = self.session.measured(cell)
        self._keep()
        return measured

    def judge(self, cell: Cell, metric: str) -> Verdict:
        """Judge one metric and keep the verdict. Raises one of `EXPLAINED`."""
        measured = self.measured(cell)
        machine = measured.measurement.draftgate.machine
        judge = CellJudge(
            CellFacts.of(measured.measurement),
            measured.faults,
            self.store.exact(cell.id, machine.isa_class),
            self.store.timed(cell.id, machine.key),
            self.profile.stated_limits(),
            self.rule,
            can_confirm=self.reference is not None,
        )
        verdict = judge.judge(metric)
        if self.reference is not None:
            verdict = self.reference.settle(measured, verdict)
        return self._kept(verdict)

    def judge_identities(self, cell: Cell) -> Verdict:
        """INVALID where an identity is broken. Raises one of `EXPLAINED`."""
        broken = self.measured(cell).faults
        invalid = precondition(cell.id, IDENTITIES, broken=broken) if broken else None
        return self._kept(invalid or Verdict(cell.id, IDENTITIES, VerdictKind.OK))

    def judge_memory(self, cell: Cell) -> Verdict:
        """Whether the engine's cache holds what the models' configs say. Raises as `measured`."""
        return self._kept(judge_memory(cell, self.measured(cell).measurement.draftgate.memory))

    def judge_bounds(self, cell: Cell) -> tuple[tuple[Bound, ...], Verdict]:
        """Replay the control's output on the cell's engine, and keep what came of it.

        Raises one of `EXPLAINED`.
        """
        bounds, verdict = Bounds(self.profile, self.session, self.arms).judge(cell)
        self.bounds += bounds
        self._keep()
        return bounds, self._kept(verdict)

    def explain(self, cell: Cell, metric: str, error: Exception) -> tuple[Verdict, str]:
        """What cannot be said for an error: an INVALID verdict, kept once, and the details.

        The details (the log's tail) come once a run, however many tests an engine takes down.
        """
        first, *details = str(error).splitlines()
        verdict = Verdict(cell.id, metric, VerdictKind.INVALID, cause=first)
        if self.reference is not None and isinstance(error, EngineError):
            verdict = self.reference.explain(cell, error) or verdict
        if verdict not in self.verdicts:
            self.verdicts.append(verdict)
        text = "" if str(error) in self._shown else "\n".join(details)
        self._shown.add(str(error))
        return verdict, text

    def baseline_keys(self) -> frozenset[str]:
        """Folders of this run's baselines: the machine's, and the class of each engine measured."""
        measured = self.session.all_measured()
        classes = (m.measurement.draftgate.machine.isa_class for m in measured)
        return frozenset(map(self.store.key, (self.surroundings.fingerprint.key, *classes)))

    def fails(self, verdict: Verdict) -> bool:
        """Whether the verdict fails its test.

        A run that updates baselines does not judge against those it is about to replace; what is
        judged without one fails it all the same, and so does what is worse than a baseline that
        stays (``new``).
        """
        if self.options.update and verdict.metric not in WITHOUT_STORE:
            replaces = UpdatePolicy(self.options.update) is not UpdatePolicy.NEW
            return verdict.verdict in ({VerdictKind.INVALID} if replaces else ALWAYS_FAILING)
        required = self.options.requires_baseline(self.profile.fingerprint)
        return verdict.fails(
            FailurePolicy(suspect=self.reference is not None, require_baseline=required)
        )

    def finish(self, exitstatus: int, about: RunFacts) -> int:
        """End the engines, update baselines, write the run's files; returns the exit status."""
        self.arms.close()
        if self.reference is not None:
            self.verdicts += self.reference.one_sided()
        self._keep()
        self.updated = update_baselines(
            self.options,
            self.store,
            self.session.all_measured(),
            self.profile.stated_limits(),
            self.surroundings.provenance,
            refusal=_refusal(exitstatus),
        )
        self.pruned = prune_baselines(self, exitstatus, about)
        reason = _reason(exitstatus)
        if (self.updated.problems or self.pruned.problem) and exitstatus == 0:
            reason, exitstatus = "baselines_refused", int(pytest.ExitCode.TESTS_FAILED)
        self._write_run(reason, about)
        unsaid = append_history(self.options.history, self.started, self.session.all_measured())
        self.unwritten = "\n".join(filter(None, (self.unwritten, unsaid)))
        if self.unwritten and exitstatus == 0:
            exitstatus = int(pytest.ExitCode.TESTS_FAILED)
        return exitstatus

    def _kept(self, verdict: Verdict) -> Verdict:
        self.verdicts.append(verdict)
        return verdict

    def _keep(self) -> None:
        """Write the measurements that are not yet; controls that no test asked for are among them.

        A full disk must not hide verdicts, so it is remembered, not raised.
        """
        try:
            for measured in self.session.all_measured():
                if measured.cell.id not in self._written:
                    self.folder.write_cell(measured.measurement)
                    self._written.add(measured.cell.id)
            self.unwritten = ""
        except ResultsError as error:
            self.unwritten = str(error)

    def _write_run(self, exit_reason: str, about: RunFacts) -> None:
        fault = self.options.fault
        facts = {
            "profile": self.profile.name,
            "manifest": about.manifest,
            "shard": about.shard,
            "cells": [cell.id for cell in self.cells],
            "fingerprint": self.surroundings.fingerprint.model_dump(mode="json"),
            "provenance": self.surroundings.provenance.model_dump(mode="json"),
            "started": self.started.isoformat(),
            "ended": datetime.now(UTC).isoformat(),
            "engine_starts": self.arms.starts,
            "engines_ready_s": round(self.engines_ready_s, 1),
            "exit_reason": exit_reason,
            **({"reference": self.reference.facts()} if self.reference else {}),
            **({"fault": fault.facts(self.profile.scenarios())} if fault else {}),
        }
        try:
            self.folder.write_verdicts(self.verdicts)
            self.folder.write_sensitivity(self.verdicts)
            if self.reference is not None:
                self.reference.write(self.folder)
            if self.bounds:
                self.folder.write_bounds(self.bounds)
            self.folder.write_run(facts)
        except ResultsError as error:
            self.unwritten = str(error)


def _reason(exitstatus: int) -> str:
    try:
        return pytest.ExitCode(exitstatus).name.lower()
    except ValueError:
        return f"exit status {exitstatus}"


def _refusal(exitstatus: int) -> str | None:
    """Why a run that ended so may not write baselines."""
    if exitstatus == pytest.ExitCode.OK:
        return None
    if exitstatus == pytest.ExitCode.INTERRUPTED:
        return "the run was interrupted"
    return "the run has failing tests"
