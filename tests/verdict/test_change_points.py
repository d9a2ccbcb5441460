"""Change points: found where a level moves, not where it does not, and the same every time."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftgate.verdict.change_points import ChangeRule, change_points

SERIES = st.lists(st.floats(0.5, 2.0), max_size=40)


def noisy(*levels: tuple[float, int], sd: float = 0.02, seed: int = 0) -> list[float]:
    """Levels with their numbers of runs, under log-normal noise."""
    generator = np.random.default_rng(seed)
    values = np.concatenate([np.full(count, level) for level, count in levels])
    return list(values * np.exp(generator.normal(0, sd, len(values))))


def test_a_step_is_found_where_it_is():
    [point] = change_points(noisy((100, 30), (93, 30)))
    assert abs(point.index - 30) <= 1
    assert point.ratio == pytest.approx(0.93, abs=0.01)
    assert point.p < 0.001


def test_two_steps_are_both_found():
    points = change_points(noisy((100, 30), (90, 25), (110, 30)))
    assert [round(point.ratio, 1) for point in points] == [0.9, 1.2]
    assert all(abs(point.index - at) <= 1 for point, at in zip(points, (30, 55), strict=True))


def test_an_exact_metric_changes_where_its_value_does():
    [point] = change_points([2.87] * 12 + [2.85] * 12, ChangeRule(least_change=0.001))
    assert point.index == 12
    assert (point.before, point.after) == (pytest.approx(2.87), pytest.approx(2.85))


def test_noise_alone_is_quiet():
    """At alpha 0.001, 200 series of noise have none or one false change (P of more: 2 %)."""
    found = [change_points(noisy((100, 40), seed=seed)) for seed in range(200)]
    assert sum(bool(points) for points in found) <= 1


def test_one_odd_run_is_no_change():
    values = noisy((100, 40))
    values[20] = 50.0
    assert change_points(values) == []


def test_a_small_change_is_no_news():
    values = [100.0] * 20 + [99.5] * 20
    assert change_points(values) == []
    assert len(change_points(values, ChangeRule(least_change=0.001))) == 1


def test_few_runs_prove_nothing():
    assert change_points([100.0] * 4 + [50.0] * 4) == []


@pytest.mark.parametrize("values", [[], [1.0], [1.0] * 100])
def test_nothing_to_find(values):
    assert change_points(values) == []


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_impossible_values_are_refused(value):
    with pytest.raises(ValueError, match="positive"):
        change_points([1.0] * 10 + [value])


@settings(max_examples=25, deadline=None)
@given(SERIES, st.floats(0.1, 1000))
def test_the_unit_does_not_matter(values, unit):
    rule = ChangeRule(alpha=0.05, shuffles=199)
    found = change_points(values, rule)
    scaled = change_points([unit * value for value in values], rule)
    assert [point.index for point in scaled] == [point.index for point in found]


@settings(max_examples=25, deadline=None)
@given(SERIES)
def test_points_are_ordered_and_leave_enough_runs(values):
    rule = ChangeRule(alpha=0.3, shuffles=199, least_change=0)
    edges = [0, *(point.index for point in change_points(values, rule)), len(values)]
    if len(edges) > 2:
        assert all(b - a >= rule.least_runs for a, b in pairwise(edges))
