"""Which cells a test gets, and the order in which cells are measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from draftgate.profile.cells import Cell
    from draftgate.profile.model import Profile

MARKER = "cells"


def wants_cells(test: pytest.Metafunc | pytest.Item) -> bool:
    """Whether the test measures cells; a test of someone else may have an argument `cell`."""
    return "perf" in _fixtures(test)


def parametrize(metafunc: pytest.Metafunc, profile: Profile | None) -> None:
    """Give the test the cells that its marker ``cells`` asks for; without one, every cell.

    Without a usable profile the run is about to end; in a worker of pytest-xdist the tests fail
    instead, so there must be some.
    """
    if "cell" not in metafunc.fixturenames:
        pytest.fail("the fixture `perf` needs the argument `cell` beside it", pytrace=False)
    wanted = _wanted(metafunc)
    if profile is None:
        metafunc.parametrize("cell", [None], ids=["unknown"])
        return
    metric = wanted.pop("limited", None)
    is_judged = metric is None or metric in profile.limits.stated()
    cells = [cell for cell in profile.cells() if is_judged and _fits(cell, **wanted)]
    metafunc.parametrize("cell", cells, ids=[c.test_id for c in cells], scope="session")


def _wanted(metafunc: pytest.Metafunc) -> dict[str, Any]:
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is None:
        return {}
    allowed = ("speculative", "timed", "staged", "scripted", "limited")
    if marker.args or not set(marker.kwargs) <= set(allowed):
        given = ", ".join([*map(repr, marker.args), *(f"{k}=" for k in marker.kwargs)])
        pytest.fail(f"marker cells({given}): it takes {'=, '.join(allowed)}=", pytrace=False)
    return dict(marker.kwargs)


def _fits(
    cell: Cell,
    *,
    speculative: bool = False,
    timed: bool = False,
    staged: bool = False,
    scripted: bool = False,
) -> bool:
    """Whether ``cell`` drafts, is timed, has its stages timed, where that is asked for.

    Cells with scripted drafts are for the tests that write the script, and for no other.
    """
    if _is_scripted(cell) != scripted:
        return False
    if (timed and not cell.timed) or (staged and not cell.staged):
        return False
    return not (speculative and cell.scenario.is_control)


def _is_scripted(cell: Cell) -> bool:
    from draftgate.engine.drafts import is_scripted

    return is_scripted(cell.scenario.variant.speculative_config)


def cell_of(item: pytest.Item) -> Cell | None:
    """The cell that a test measures."""
    callspec = getattr(item, "callspec", None) if wants_cells(item) else None
    cell = callspec.params.get("cell") if callspec else None
    return cell if hasattr(cell, "scenario") else None  # pytest's own mark where there is none


def drop_tests_without_cells(items: list[pytest.Item]) -> None:
    """Forget tests for which the profile has no cell; pytest would report each as skipped."""
    items[:] = [item for item in items if not wants_cells(item) or cell_of(item)]


def order(items: list[pytest.Item], profile: Profile, grouped_by_scenario: bool) -> None:
    """All tests of a cell together, cells in the profile's order.

    ``grouped_by_scenario``: all cells of an engine together, where not every engine can be
    resident. The test that times the rounds comes first in its cell.
    """
    cells = list(profile.cells())
    if grouped_by_scenario:
        scenarios = {scenario: i for i, scenario in enumerate(profile.scenarios())}
        cells.sort(key=lambda cell: scenarios[cell.scenario])
    rank = {cell: i for i, cell in enumerate(cells)}

    def position(item: pytest.Item) -> tuple[int, int]:
        cell = cell_of(item)
        return (rank[cell] if cell else -1, 0 if "benchmark" in _fixtures(item) else 1)

    items.sort(key=position)


def _fixtures(test: pytest.Metafunc | pytest.Item) -> tuple[str, ...]:
    return tuple(getattr(test, "fixturenames", ()))
