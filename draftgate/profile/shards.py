"""Splitting a profile over machines: by scenario, so that an engine starts in one shard.

The control is an exception: every shard starts the one of each target that it measures, because a
speed-up is taken against a control of the same session. Its own cells belong to one shard only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Self

from draftgate.profile.cells import Cell, Scenario
from draftgate.profile.estimate import estimate_seconds
from draftgate.profile.model import Profile


class ShardError(Exception):
    """A shard that cannot be had; complete message."""


@dataclass(frozen=True)
class Shard:
    """``index`` of ``total``, from 1."""

    index: int
    total: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """From ``i/n``; raises ShardError."""
        match = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text)
        index, total = map(int, match.groups()) if match else (0, 0)
        if not 1 <= index <= total:
            raise ShardError(f"--shard {text!r}: write i/n with 1 <= i <= n, for example 2/3")
        return cls(index, total)

    def __str__(self) -> str:
        return f"{self.index}/{self.total}"


def scenarios_of(profile: Profile, shard: Shard) -> frozenset[Scenario]:
    """The scenarios whose cells ``shard`` judges. Raises ShardError where none is left for it."""
    return balanced(profile, shard.total)[shard.index - 1]


def balanced(profile: Profile, total: int) -> tuple[frozenset[Scenario], ...]:
    """Every scenario in one of ``total`` shards; the longest first, each to the least loaded.

    Raises ShardError where there are fewer scenarios than shards.
    """
    cells = _cells_by_scenario(profile)
    if total > len(cells):
        raise ShardError(
            f"profile {profile.name} has {len(cells)} scenarios, too few for {total} shards; "
            f"give --shard i/{len(cells)} at most"
        )
    loads = [_Load(profile, cells) for _ in range(total)]
    for scenario in sorted(cells, key=lambda s: (-_Load(profile, cells).with_(s).seconds, s.id)):
        fresh = [load.with_(scenario) for load in loads]
        # Fewer scenarios win a tie, so that no shard is left bare.
        chosen = min(range(total), key=lambda i: (fresh[i].seconds, len(fresh[i].scenarios), i))
        loads[chosen] = fresh[chosen]
    return tuple(load.scenarios for load in loads)


def estimated_seconds(profile: Profile, scenarios: frozenset[Scenario]) -> float:
    """What a shard of these scenarios takes, with the controls that it starts beside them."""
    return _Load(profile, _cells_by_scenario(profile), scenarios).seconds


@dataclass(frozen=True)
class _Load:
    """Scenarios of one shard, and what they take together."""

    profile: Profile
    cells: dict[Scenario, tuple[Cell, ...]]
    scenarios: frozenset[Scenario] = frozenset()

    def with_(self, scenario: Scenario) -> _Load:
        return _Load(self.profile, self.cells, self.scenarios | {scenario})

    @property
    def seconds(self) -> float:
        """Engine starts, own cells, and untimed cells of controls that others own."""
        plan = self.profile.plan
        controls = {scenario.control for scenario in self.scenarios}
        companions = {
            cell.control
            for scenario in self.scenarios
            for cell in self.cells[scenario]
            if not cell.timed
        }
        own = {cell for scenario in self.scenarios for cell in self.cells[scenario]}
        starts = len(controls | self.scenarios) * plan.estimate.engine_start_s
        return starts + sum(estimate_seconds(plan, cell) for cell in own | companions)


def _cells_by_scenario(profile: Profile) -> dict[Scenario, tuple[Cell, ...]]:
    found: defaultdict[Scenario, list[Cell]] = defaultdict(list)
    for cell in profile.cells():
        found[cell.scenario].append(cell)
    return {scenario: tuple(cells) for scenario, cells in found.items()}
