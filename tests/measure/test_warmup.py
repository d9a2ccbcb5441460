from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st
from round_strategies import example_round

from draftgate.engine.records import RoundRecord
from draftgate.measure.warmup import Play, warm_up

WALLS = st.lists(st.floats(0.01, 100), min_size=12, max_size=12)


def playing(walls: list[float]) -> Play:
    """Rounds that take these times, one after the other."""
    records = (example_round(wall_s=wall) for wall in walls)
    return lambda: next(records)


def walls_of(rounds: list[RoundRecord]) -> list[float]:
    return [record.wall_s for record in rounds]


def test_it_ends_once_two_rounds_in_a_row_agree():
    assert walls_of(warm_up(playing([9, 5, 4.9, 4.9]), 10, 0.1)) == [9, 5, 4.9]


def test_it_gives_up_at_the_bound():
    assert walls_of(warm_up(playing([9, 5, 3, 2, 1]), 4, 0.1)) == [9, 5, 3, 2]


def test_none_is_possible():
    assert warm_up(playing([]), 0, 0.1) == []


@given(WALLS, st.integers(0, 12), st.floats(0.01, 0.99))
def test_only_the_last_two_rounds_agree(walls, most, tolerance):
    found = walls_of(warm_up(playing(walls), most, tolerance))
    assert found == walls[: len(found)]
    steady = [abs(now - before) <= tolerance * before for before, now in itertools.pairwise(found)]
    assert not any(steady[:-1])
    assert len(found) == most or steady[-1]
