from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from round_strategies import example_control, example_round

from draftgate.measure.cell_run import CellRun


def cell_run(rounds: int, control: bool = True, told: list[str] | None = None) -> CellRun:
    return CellRun(
        example_round,
        example_control if control else None,
        rounds,
        lambda arm, record: None if told is None else told.append(arm),
    )


def test_the_order_is_a_b_b_a():
    run = cell_run(4)
    run.finish()
    assert run.order == ["control", "arm", "arm", "control", "control", "arm", "arm", "control"]


@given(st.integers(1, 9))
def test_every_round_has_a_control_round_next_to_it(rounds):
    run = cell_run(rounds)
    run.finish()
    assert len(run.rounds) == len(run.control_rounds) == rounds
    pairs = [run.order[2 * i : 2 * i + 2] for i in range(rounds)]
    assert all(sorted(pair) == ["arm", "control"] for pair in pairs)
    # Neither arm has the better place, but for the odd one out.
    first = sum(pair[0] == "arm" for pair in pairs)
    assert first == rounds // 2


def test_a_control_of_its_own_plays_alone():
    run = cell_run(3, control=False)
    run.finish()
    assert run.order == ["arm"] * 3
    assert run.control_rounds == []


@given(st.integers(0, 5), st.integers(1, 5))
def test_rounds_timed_elsewhere_count_and_finish_plays_the_rest(timed, wanted):
    alone, shared = cell_run(wanted), cell_run(wanted)
    alone.finish()
    for _ in range(min(timed, wanted)):
        shared.before()
        shared.play()
        shared.after()
    shared.finish()
    shared.finish()
    assert shared.order == alone.order
    assert len(shared.rounds) == wanted


def test_the_watcher_hears_of_every_round_in_order():
    told: list[str] = []
    run = cell_run(3, told=told)
    run.finish()
    assert told == run.order


def test_play_is_nothing_but_the_round():
    """So that a timer around it times the arm alone."""
    told: list[str] = []
    run = cell_run(1, told=told)
    run.play()
    assert told == []
    assert run.order == ["arm"]


def test_an_error_passes_on():
    def broken():
        raise RuntimeError("gone")

    run = CellRun(broken, example_control, 2)
    with pytest.raises(RuntimeError, match="gone"):
        run.finish()
    assert run.rounds == []
