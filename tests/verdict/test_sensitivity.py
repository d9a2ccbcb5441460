"""What an OK is worth: the smallest change that would have been found."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.noise import Difference
from draftgate.verdict.rule import TimedRule, kind_of
from draftgate.verdict.sensitivity import Sensitivity
from draftgate.verdict.timed import judge_timed

errors = st.floats(1e-4, 0.2)
limits = st.floats(0.01, 0.3)


def detectable(error, limit=0.03, higher=True, alpha=0.05, power=0.8, dof=math.inf):
    return Sensitivity.of(Difference(0.0, error, dof), limit, higher, alpha, power).detectable


@given(errors, limits, st.booleans())
def test_it_is_never_smaller_than_the_limit(error, limit, higher):
    assert detectable(error, limit, higher) > limit


@given(errors, limits, st.booleans())
def test_noise_never_helps(error, limit, higher):
    assert detectable(error, limit, higher) < detectable(1.5 * error, limit, higher)


@given(errors, st.integers(1, 100))
def test_more_comparisons_never_help(error, family):
    assert detectable(error, alpha=0.05 / family) >= detectable(error)


@pytest.mark.parametrize("error", [0.004, 0.015, 0.03])
@pytest.mark.parametrize("higher", [True, False])
def test_a_loss_of_that_size_is_found_four_times_of_five(error, higher):
    random = np.random.default_rng(6)
    rule = TimedRule(family_size=20)
    loss = detectable(error, higher=higher, alpha=rule.strict_alpha)
    shift = math.log1p(-loss) if higher else math.log1p(loss)
    estimates = shift + random.normal(0, error, 2000)
    found = [kind_of(Difference(float(x), error, math.inf), 0.03, higher, rule) for x in estimates]
    share = np.mean([kind is VerdictKind.REGRESSED for kind in found])
    assert share == pytest.approx(0.8, abs=0.03)


def test_a_timed_verdict_carries_it():
    rounds = [[100.0, 101.0, 99.5]]
    verdict = judge_timed("t/v/w/bs1", "speedup", rounds, rounds, 0.05)
    assert verdict.sensitivity is not None
    assert 0.05 < verdict.sensitivity.detectable < 0.15
    assert "sensitivity" not in verdict.record()
    few = judge_timed("t/v/w/bs1", "speedup", [[100.0]], rounds, 0.05)
    assert few.sensitivity is None
