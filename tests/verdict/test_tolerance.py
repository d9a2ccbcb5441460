"""Acceptance that is not exact: paired by prompt, clustered by request."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftgate.verdict.clustered import clustered_difference
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.rule import TimedRule
from draftgate.verdict.tolerance import judge_tolerance

counts = st.dictionaries(
    st.integers(0, 30).map("p{}".format),
    st.tuples(st.integers(1, 400), st.integers(1, 100)),
    min_size=5,
)


def judge(value, baseline, limit=0.03, rule=None):
    return judge_tolerance("t/v/w/bs1", "acceptance_length", value, baseline, limit, rule=rule)


def requests(random, prompts, steps, spread, al=2.5, jitter=0.0):
    """(tokens, verifications) by prompt: prompts differ by ``spread``, runs by ``jitter``."""
    difficulty = np.random.default_rng(5).normal(0, spread, prompts)
    means = al * np.exp(difficulty + random.normal(0, jitter, prompts))
    return {f"p{i}": (max(steps, round(float(m) * steps)), steps) for i, m in enumerate(means)}


def test_equal_counts_are_ok():
    found = requests(np.random.default_rng(1), 20, 50, 0.3)
    verdict = judge(found, dict(found))
    assert verdict.verdict is VerdictKind.OK
    assert verdict.ratio == 1.0
    assert verdict.counted == "prompts"
    assert not verdict.exact


def test_a_lost_token_a_step_is_found_though_prompts_differ_far_more():
    random = np.random.default_rng(2)
    before = requests(random, 40, 50, 0.3, jitter=0.01)
    after = requests(random, 40, 50, 0.3, al=2.3, jitter=0.01)
    verdict = judge(after, before)
    assert verdict.verdict is VerdictKind.REGRESSED
    assert verdict.ratio == pytest.approx(2.3 / 2.5, abs=0.01)
    assert "n=40 prompts, limit -3 %" in verdict.line()


def test_a_gain_beyond_the_limit_is_shown():
    random = np.random.default_rng(2)
    before = requests(random, 40, 50, 0.3, jitter=0.01)
    after = requests(random, 40, 50, 0.3, al=2.7, jitter=0.01)
    assert judge(after, before).verdict is VerdictKind.IMPROVED


@pytest.mark.parametrize("prompts", [0, 1, 4])
def test_few_common_prompts_are_underpowered(prompts):
    found = requests(np.random.default_rng(3), 20, 50, 0.3)
    few = dict(list(found.items())[:prompts]) | {"another": (10, 5)}
    assert judge(few, found).verdict is VerdictKind.UNDERPOWERED


def test_nothing_drafted_is_invalid():
    nothing = {f"p{i}": (0, 0) for i in range(9)}
    assert judge(nothing, dict.fromkeys(nothing, (5, 2))).verdict is VerdictKind.INVALID
    assert judge(dict.fromkeys(nothing, (5, 2)), nothing).verdict is VerdictKind.INVALID


@given(counts, counts)
def test_swapping_the_sides_turns_the_difference_round(value, baseline):
    if len(value.keys() & baseline.keys()) < 2:
        with pytest.raises(ValueError, match="common prompts"):
            clustered_difference(value, baseline)
        return
    there, back = clustered_difference(value, baseline), clustered_difference(baseline, value)
    assert back.log_ratio == pytest.approx(-there.log_ratio, abs=1e-12)
    assert back.standard_error == pytest.approx(there.standard_error)


@given(counts, st.integers(2, 9))
def test_longer_runs_of_the_same_prompts_do_not_buy_certainty(found, factor):
    """Steps are no trials: only more prompts make a comparison surer."""
    other = {p: (above + 1, below) for p, (above, below) in found.items()}
    longer = [
        {p: (a * factor, b * factor) for p, (a, b) in side.items()} for side in (found, other)
    ]
    plain, scaled = clustered_difference(found, other), clustered_difference(*longer)
    assert scaled.log_ratio == pytest.approx(plain.log_ratio)
    assert scaled.standard_error == pytest.approx(plain.standard_error)


def test_the_level_holds_where_steps_of_a_request_accept_alike():
    random = np.random.default_rng(8)
    p = [
        clustered_difference(
            requests(random, 30, 60, 0.3, jitter=0.05), requests(random, 30, 60, 0.3, jitter=0.05)
        ).p_below()
        for _ in range(1000)
    ]
    assert abs(np.mean(np.array(p) < 0.05) - 0.05) < 3 * math.sqrt(0.05 * 0.95 / 1000) + 0.005


def test_chance_among_many_cells_is_a_suspect():
    random = np.random.default_rng(2)
    before = requests(random, 12, 50, 0.3, jitter=0.04)
    after = requests(random, 12, 50, 0.3, al=2.38, jitter=0.04)
    kinds = {judge(after, before, rule=TimedRule(family_size=size)).verdict for size in (1, 10_000)}
    assert kinds == {VerdictKind.REGRESSED, VerdictKind.SUSPECT}
