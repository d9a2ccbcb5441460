"""The pytest plugin: options, cells as parameters, fixtures, table and results.

A door: hooks call rooms. Heavy modules are imported when a test asks for a cell, so that a pytest
run that has nothing to do with draftgate pays nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from draftgate.plugin import cells, selection
from draftgate.plugin.fixtures import perf, perf_gate
from draftgate.plugin.options import Options, add_options
from draftgate.plugin.run_facts import run_facts
from draftgate.plugin.stash import GATE, PROFILE, PROFILE_ERROR

if TYPE_CHECKING:
    from draftgate.profile.model import Profile

__all__ = ["perf", "perf_gate"]

MARKERS = (
    "perf: measures engines and judges them against baselines",
    "correctness: checks losslessness",
    "slow: takes minutes; not part of `make test`",
    "gpu: needs a GPU",
    "engine: starts engines in processes of their own",
    "cells(speculative=False, timed=False, staged=False, scripted=False, limited=METRIC): which of "
    "the profile's cells a test with the fixture `perf` gets: only those that draft, that are "
    "timed, whose stages are timed; those whose drafts the test scripts; none where the profile "
    "gives the metric no limit",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers; refuse options that contradict each other."""
    Options.from_pytest(config).check()
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say first that a fault is planted."""
    fault = Options.from_pytest(config).fault
    return fault.notice() if fault else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrise tests over the profile's cells."""
    if cells.wants_cells(metafunc):
        cells.parametrize(metafunc, _profile(metafunc.config))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the tests of a cell together. An unusable profile ends the run here, as pytest says."""
    error = config.stash.get(PROFILE_ERROR, "")
    if error and any(map(cells.wants_cells, items)) and not _is_worker(config):
        raise pytest.UsageError(error)
    profile = config.stash.get(PROFILE, None)
    if profile is not None:
        selection.keep_shard(config, items, profile)
        selection.tell_cells(items)
        if (fault := Options.from_pytest(config).fault) is not None:
            fault.drop(items)
        cells.drop_tests_without_cells(items)
        cells.order(items, profile, grouped_by_scenario=profile.plan.resident is not None)


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Remember that tests of cells were left out: such a run proves nothing to a gate."""
    selection.count_deselected(items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Build the gate for what was selected; a worker of pytest-xdist gets none."""
    config = session.config
    profile = config.stash.get(PROFILE, None)
    asked = any(cells.cell_of(item) for item in session.items)
    given_up = session.testsfailed and not config.option.continue_on_collection_errors
    if profile is None or not asked or given_up or config.option.collectonly or _is_worker(config):
        return
    from draftgate.plugin.build import build_gate

    config.stash[GATE] = build_gate(config, profile, session.items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Remove the progress line before pytest writes a result."""
    if found := item.config.stash.get(GATE, None):
        found.progress.clear()
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """End the engines, update baselines, write what was measured - after Ctrl-C too."""
    if found := session.config.stash.get(GATE, None):
        found.progress.clear()
        session.exitstatus = found.finish(exitstatus, run_facts(found, session.config))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Show the table, the worst first."""
    if found := config.stash.get(GATE, None):
        from draftgate.plugin.summary import write_summary

        write_summary(terminalreporter, found)


def _is_worker(config: pytest.Config) -> bool:
    """Whether this is a process of pytest-xdist, which measures nothing."""
    return hasattr(config, "workerinput")


def _profile(config: pytest.Config) -> Profile | None:
    """The profile, None where it cannot be used: pytest would take an error here for a test's."""
    if PROFILE not in config.stash and PROFILE_ERROR not in config.stash:
        from draftgate.profile import ProfileError, load_profile

        try:
            config.stash[PROFILE] = load_profile(Options.from_pytest(config).profile)
        except ProfileError as error:
            config.stash[PROFILE_ERROR] = str(error)
    return config.stash.get(PROFILE, None)
