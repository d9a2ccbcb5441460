"""Building the gate once the tests, and so the cells, are known."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from draftgate.baseline.store import BaselineStore
from draftgate.engine.fingerprint import repeats_tokens
from draftgate.engine.forkserver import ForkServers
from draftgate.engine.interpreter import Interpreter, InterpreterError
from draftgate.measure.arms import Arms, host_factory
from draftgate.measure.reference import REFERENCE, EnvironmentEngines, Reference
from draftgate.measure.session import Session
from draftgate.plugin.cells import cell_of
from draftgate.plugin.gate import Gate
from draftgate.plugin.near_ties import NearTies
from draftgate.plugin.options import Options
from draftgate.plugin.progress import ProgressLine
from draftgate.plugin.reference_stage import ReferenceStage
from draftgate.plugin.surroundings import Surroundings
from draftgate.reporting.results_folder import ResultsError, ResultsFolder
from draftgate.verdict.family import rule_of
from draftgate.verdict.rule import TimedRule
from draftgate.verdict.run_gaps import is_for
from draftgate.workload import load_workload

if TYPE_CHECKING:
    from draftgate.profile.cells import Cell, Scenario
    from draftgate.profile.model import Profile

_GPU_MEMORY = 0.9
"""Share of a GPU's memory that its resident engines get together."""


def build_gate(config: pytest.Config, profile: Profile, items: Sequence[pytest.Item]) -> Gate:
    """The gate of the cells that ``items`` are about; nothing is started yet.

    Raises:
        pytest.UsageError: the results folder cannot be written, or the reference's Python is
            unusable.
    """
    options = Options.from_pytest(config)
    cells = _cells(items)
    other = _interpreter(options.reference, is_self_test=options.fault is not None)
    try:
        folder = ResultsFolder.create(options.results)
    except ResultsError as error:
        raise pytest.UsageError(str(error)) from error
    progress = ProgressLine(config, len(cells), profile.plan.rounds)
    arms = _arms(profile, folder.path / "logs", options, other)
    here = Surroundings.here()
    _tell_other_hardware(config, profile, here)
    load = lru_cache(None)(load_workload)
    session = Session(profile, arms, load, here.describe, progress, NearTies(arms))
    # Goes through all cells: made once, not with every verdict.
    rule = rule_of(profile, repeats_tokens=repeats_tokens(here.fingerprint.isa_class))
    stage = _reference_stage(session, arms, here, progress, rule, other) if other else None
    store = BaselineStore(options.baseline_dir, profile.baseline_series)
    return Gate(options, profile, cells, arms, session, store, folder, progress, here, rule, stage)


def _tell_other_hardware(config: pytest.Config, profile: Profile, here: Surroundings) -> None:
    """What the gate will say of the run is told before it costs hours."""
    key, pattern = here.fingerprint.key, profile.fingerprint or ""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and not is_for(pattern, key):
        terminal.write_line(
            f"\nprofile {profile.name!r} is for {pattern}, this machine is {key}: `draftgate gate` "
            "will call the run incomplete; copy the profile and set its fingerprint"
        )


def _interpreter(python: Path | None, *, is_self_test: bool) -> Interpreter | None:
    """The reference's; the vLLM under test itself would find every loss on both sides.

    This interpreter is asked as that one is, by a process that starts as engines do: `PYTHONPATH`
    and the current folder may bring another vLLM than this process has.
    """
    if python is None:
        return None
    try:
        found, this = Interpreter.at(python), Interpreter.at(Path(sys.executable))
    except InterpreterError as error:
        raise pytest.UsageError(f"--perf-reference {error}") from error
    if found.vllm_at == this.vllm_at and not is_self_test:
        raise pytest.UsageError(
            f"--perf-reference {python}: runs the vLLM under test ({found.vllm_at}), and what it "
            "lost the reference lost as well; name the Python of an environment with a vLLM of its "
            "own, and mind PYTHONPATH and the current folder (with --perf-fault it may be the same)"
        )
    return found


def _reference_stage(
    session: Session,
    arms: Arms,
    here: Surroundings,
    progress: ProgressLine,
    rule: TimedRule,
    other: Interpreter,
) -> ReferenceStage:
    profile = session.profile
    pairs = progress.pairs(profile.plan.reference_pairs)
    theirs = Session(
        profile, EnvironmentEngines(arms), session.load, here.elsewhere().describe, pairs
    )
    plan = profile.plan
    reference = Reference(
        session, theirs, plan.reference_pairs, plan.reference_starts, pairs.round_done
    )
    return ReferenceStage(reference, other, profile.stated_limits(), rule)


def _arms(profile: Profile, log_dir: Path, options: Options, other: Interpreter | None) -> Arms:
    forks = ForkServers(log_dir)
    on_cpu = Interpreter.this().on_cpu
    resident = profile.plan.resident or (None if on_cpu else 1)
    make = host_factory(
        log_dir,
        max_num_seqs=_largest_batch(profile),
        seed=profile.seed,
        launch=forks.launch,
        interpreters={REFERENCE: other} if other else {},
        fault=options.fault.of if options.fault else lambda scenario: None,
        gpu_memory_share=_GPU_MEMORY / resident if resident and not on_cpu else None,
    )
    # An engine that starts on a GPU takes for its own what others allocate in the meantime.
    return Arms(make, resident, at_once=2 if on_cpu else 1, on_close=forks.close)


def _cells(items: Sequence[pytest.Item]) -> list[Cell]:
    found = (cell_of(item) for item in items)
    return list(dict.fromkeys(cell for cell in found if cell is not None))


def _largest_batch(profile: Profile) -> Callable[[Scenario], int]:
    return lambda scenario: max(profile.batch_sizes(scenario.target))
