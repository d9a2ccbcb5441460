"""Which cells a test gets, and the order in which cells are measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from draftgate.profile.cells import Cell
    from draftgate.profile.model import Profile

ALL, SPECULATIVE = "cell", "speculative_cell"


def wants_cells(metafunc: pytest.Metafunc) -> bool:
    """Whether the test asks for cells at all."""
    return ALL in metafunc.fixturenames or SPECULATIVE in metafunc.fixturenames


def parametrize(metafunc: pytest.Metafunc, profile: Profile) -> None:
    """Give ``cell`` every cell, ``speculative_cell`` those that draft."""
    for name in (ALL, SPECULATIVE):
        if name in metafunc.fixturenames:
            cells = [c for c in profile.cells() if name == ALL or not c.scenario.is_control]
            metafunc.parametrize(name, cells, ids=[c.test_id for c in cells], scope="session")


def cell_of(item: pytest.Item) -> Cell | None:
    """The cell that a test is about."""
    callspec = getattr(item, "callspec", None)
    parameters = callspec.params if callspec else {}
    return parameters.get(ALL) or parameters.get(SPECULATIVE)


def order(items: list[pytest.Item], profile: Profile, grouped_by_scenario: bool) -> None:
    """All tests of a cell together, cells in the profile's order.

    ``grouped_by_scenario``: all cells of an engine together, where not every engine can be
    resident. The test that times the rounds comes first in its cell (`tryfirst` by file order).
    """
    cells = list(profile.cells())
    if grouped_by_scenario:
        scenarios = {scenario: i for i, scenario in enumerate(profile.scenarios())}
        cells.sort(key=lambda cell: scenarios[cell.scenario])
    rank = {cell: i for i, cell in enumerate(cells)}

    def position(item: pytest.Item) -> tuple[int, int]:
        cell = cell_of(item)
        timed = "benchmark" in getattr(item, "fixturenames", ())
        return (rank[cell] if cell else -1, 0 if timed else 1)

    items.sort(key=position)
