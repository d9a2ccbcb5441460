from __future__ import annotations

import itertools
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftgate.engine.stages.clock import Clock, host_clock
from draftgate.engine.stages.timeline import STAGE_OF_SCOPE, StepLoad, Timeline

LOAD = StepLoad(2, 8, 0, 100, 6)
STAGES = ("draft", "verify", "sample", "overhead")


class HandClock:
    """Moves only when told to; milliseconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> Clock:
        def deltas_ms(marks):
            return [b - a for a, b in itertools.pairwise(marks)]

        return Clock("host", lambda: self.now, deltas_ms)

    def pass_ms(self, ms: float) -> None:
        self.now += ms


@pytest.fixture
def hand() -> HandClock:
    return HandClock()


def timeline(hand: HandClock, *, host_scopes: bool = True) -> Timeline:
    return Timeline(hand.clock(), host_scopes=host_scopes)


def test_a_nested_scope_takes_its_time_from_the_outer_one(hand):
    line = timeline(hand)
    line.begin_step(LOAD)
    with line.scope("engine_core"):
        hand.pass_ms(1)
        with line.scope("forward"):
            hand.pass_ms(5)
        with line.scope("logits"):
            hand.pass_ms(2)
        with line.scope("draft"):
            hand.pass_ms(3)
            with line.scope("sample"):
                hand.pass_ms(0.5)
    steps = line.end()
    assert steps.verify_ms == (7,)
    assert steps.draft_ms == (3,)
    assert steps.sample_ms == (0.5,)
    assert steps.overhead_ms == (1,)
    assert steps.step_ms == (11.5,)
    assert steps.scopes_ms["forward"] == 5
    assert steps.scopes_ms["unattributed"] == 0


def test_a_step_lasts_until_the_next_begins_and_the_first_owns_what_precedes_it(hand):
    line = timeline(hand)
    hand.pass_ms(1)
    for load in (LOAD, LOAD._replace(requests=1)):
        line.begin_step(load)
        hand.pass_ms(10)
    steps = line.end()
    assert steps.step_ms == (11, 10)
    assert steps.requests == (2, 1)


def test_what_no_scope_covers_is_overhead_only_where_scopes_are_few(hand):
    found = {}
    for host_scopes in (True, False):
        line = timeline(hand, host_scopes=host_scopes)
        line.begin_step(LOAD)
        hand.pass_ms(4)
        found[host_scopes] = line.end()
    assert found[True].overhead_ms == (0,)
    assert found[False].overhead_ms == (4,)
    assert found[True].scopes_ms == found[False].scopes_ms == {"unattributed": 4}


def test_without_a_step_there_is_nothing(hand):
    assert timeline(hand).end() is None


def test_a_scope_that_closes_twice_is_an_error(hand):
    line = timeline(hand)
    line.begin_step(LOAD)
    scope = line.scope("forward")
    with scope:
        pass
    scope.__exit__(None, None, None)
    with pytest.raises(ValueError, match="was not open"):
        line.end()


def test_the_host_clock_counts_milliseconds():
    clock = host_clock()
    assert clock.deltas_ms([1_000_000, 3_500_000, 3_500_000]) == [2.5, 0.0]
    assert clock.deltas_ms([clock.mark(), clock.mark()])[0] >= 0


actions = st.recursive(
    st.floats(0, 9),
    lambda inner: st.tuples(
        st.sampled_from([*STAGE_OF_SCOPE, "prepare", "update"]), st.lists(inner, max_size=4)
    ),
    max_leaves=12,
)


def act(line: Timeline, hand: HandClock, action) -> None:
    if isinstance(action, float):
        hand.pass_ms(action)
        return
    name, inner = action
    with ExitStack() as stack:
        stack.enter_context(line.scope(name))
        for each in inner:
            act(line, hand, each)


@given(st.lists(st.lists(actions, max_size=4), min_size=1, max_size=4), st.booleans())
def test_every_moment_is_counted_once(steps, host_scopes):
    hand = HandClock()
    line = timeline(hand, host_scopes=host_scopes)
    for step in steps:
        line.begin_step(LOAD)
        for action in step:
            act(line, hand, action)
    found = line.end()
    assert sum(found.step_ms) == pytest.approx(hand.now, abs=1e-2)
    assert sum(found.scopes_ms.values()) == pytest.approx(hand.now, abs=1e-2)
    unattributed = found.scopes_ms.get("unattributed", 0.0) if host_scopes else 0.0
    stages = sum(sum(getattr(found, f"{stage}_ms")) for stage in STAGES)
    assert stages + unattributed == pytest.approx(hand.now, abs=1e-2)
