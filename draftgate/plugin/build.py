"""Building the gate once the tests, and so the cells, are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from draftgate.baseline.store import BaselineStore
from draftgate.engine.forkserver import ForkServers, can_fork_engines
from draftgate.engine.process import spawn
from draftgate.measure.arms import Arms, host_factory
from draftgate.measure.session import Session
from draftgate.plugin.cells import cell_of
from draftgate.plugin.gate import Gate
from draftgate.plugin.options import Options
from draftgate.plugin.progress import ProgressLine
from draftgate.plugin.surroundings import Surroundings
from draftgate.reporting.results_folder import ResultsError, ResultsFolder
from draftgate.workload import load_workload

if TYPE_CHECKING:
    from draftgate.profile.cells import Cell, Scenario
    from draftgate.profile.model import Profile


def build_gate(config: pytest.Config, profile: Profile, items: Sequence[pytest.Item]) -> Gate:
    """The gate of the cells that ``items`` are about; nothing is started yet.

    Raises:
        pytest.UsageError: the results folder cannot be written.
    """
    options = Options.from_pytest(config)
    cells = _cells(items)
    try:
        folder = ResultsFolder.create(options.results)
    except ResultsError as error:
        raise pytest.UsageError(str(error)) from error
    progress = ProgressLine(config, len(cells), profile.plan.rounds)
    arms = _arms(profile, folder.path / "logs")
    here = Surroundings.here()
    session = Session(profile, arms, lru_cache(None)(load_workload), here.describe, progress)
    store = BaselineStore(options.baseline_dir)
    return Gate(options, profile, cells, arms, session, store, folder, progress, here)


def _arms(profile: Profile, log_dir: Path) -> Arms:
    forks = ForkServers(log_dir)
    make = host_factory(
        log_dir,
        max_num_seqs=_largest_batch(profile),
        seed=profile.seed,
        launch=forks.launch if can_fork_engines() else spawn,
    )
    return Arms(make, profile.plan.resident, on_close=forks.close)


def _cells(items: Sequence[pytest.Item]) -> list[Cell]:
    found = (cell_of(item) for item in items)
    return list(dict.fromkeys(cell for cell in found if cell is not None))


def _largest_batch(profile: Profile) -> Callable[[Scenario], int]:
    return lambda scenario: max(profile.batch_sizes(scenario.target))
