"""Which factor moved: what a failing cell says behind the numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftgate.measure.stages import STAGES
from draftgate.verdict.cause import Factor, Factors


@pytest.mark.parametrize(
    ("factors", "text"),
    [
        (Factors(0.93, 1.0, 1.071), "step time +7.1 %, acceptance unchanged"),
        (Factors(0.96, 0.96, 1.002), "step time unchanged, tokens per step -4.0 %"),
        (Factors(None, 0.96, None), "tokens per step -4.0 %"),
        (
            Factors(0.8, 1.0, 1.0),
            "step time unchanged, acceptance unchanged, requests in a step -20.0 %",
        ),
        (
            Factors(0.93, 1.0, 1.071, {"draft": 0.01, "verify": 0.9, "sample": 0.0}),
            "step time +7.1 % (verify +0.9 ms), acceptance unchanged",
        ),
        (
            Factors(0.5, 1.0, 2.0, {"draft": 4.0, "verify": -2.0}),
            "step time +100.0 % (draft +4.0 ms, verify -2.0 ms), acceptance unchanged",
        ),
        (
            Factors(0.93, 1.0, 1.071, {"sample": 0.042}),
            "step time +7.1 % (sample +0.042 ms), acceptance unchanged",
        ),
        (Factors(0.93, 0.93, 1.0, {"verify": 0.9}), "step time unchanged, tokens per step -7.0 %"),
        (
            Factors(1.0, 0.995, 1.0, acceptance_noise=0.01),
            "step time unchanged, acceptance unchanged",
        ),
        (Factors(), ""),
    ],
)
def test_causes(factors, text):
    assert factors.text() == text


RATIO = st.floats(0.5, 2.0)


@given(RATIO, RATIO)
def test_what_the_factors_explain_leaves_no_third_one(tokens_per_step, step_time):
    factors = Factors(tokens_per_step / step_time, tokens_per_step, step_time)
    assert Factor.OCCUPANCY not in factors.moved


@given(st.floats(1.02, 2.0), st.sampled_from(STAGES), st.floats(0.01, 10))
def test_a_single_slower_stage_is_the_one_named(step_time, slow, move):
    stages = {stage: move if stage == slow else 0.0 for stage in STAGES}
    factors = Factors(1 / step_time, 1.0, step_time, stages)
    assert factors.moved == (Factor.STEP_TIME,)
    assert factors.moved_stages == (slow,)


@given(st.dictionaries(st.sampled_from(STAGES), st.floats(-5, 5)))
def test_stages_are_named_by_size_and_only_where_step_time_moved(stages):
    named = Factors(0.5, 1.0, 2.0, stages).moved_stages
    moves = [abs(stages[stage]) for stage in named]
    assert moves == sorted(moves, reverse=True)
    assert bool(named) == any(stages.values())
    assert Factors(1.0, 1.0, 1.0, stages).moved_stages == ()
