"""Which tests of cells run, and what is told of those that do not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

from draftgate.plugin.cells import cell_of
from draftgate.plugin.options import Options
from draftgate.plugin.stash import DESELECTED

if TYPE_CHECKING:
    from draftgate.profile.model import Profile


def keep_shard(config: pytest.Config, items: list[pytest.Item], profile: Profile) -> None:
    """Leave out the cells of other shards; tests without a cell stay.

    Raises pytest.UsageError on a shard that cannot be had.
    """
    wanted = Options.from_pytest(config).shard
    if not wanted:
        return
    from draftgate.profile.shards import Shard, ShardError, scenarios_of

    try:
        ours = {scenario.id for scenario in scenarios_of(profile, Shard.parse(wanted))}
    except ShardError as error:
        raise pytest.UsageError(str(error)) from error
    others = [i for i in items if (cell := cell_of(i)) and cell.scenario.id not in ours]
    left_out = set(others)
    items[:] = [item for item in items if item not in left_out]
    before = config.stash.get(DESELECTED, 0)
    config.hook.pytest_deselected(items=others)
    config.stash[DESELECTED] = before  # another machine measures them


def tell_cells(items: Iterable[pytest.Item]) -> None:
    """Name each test's cell in JUnit, though the test be skipped."""
    for item in items:
        if cell := cell_of(item):
            item.user_properties.append(("perf.cell", cell.id))


def count_deselected(items: Iterable[pytest.Item]) -> None:
    """Count those that are about cells."""
    for item in items:
        if cell_of(item):
            stash = item.config.stash
            stash[DESELECTED] = stash.get(DESELECTED, 0) + 1
