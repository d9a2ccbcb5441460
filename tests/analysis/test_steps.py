"""Steps of records and traces, and what is computed of them: laws that any round must satisfy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from round_strategies import example_request, example_round, rounds_and_k
from trace_examples import request, trace

from draftgate.analysis.across_requests import autocorrelation, burstiness, per_request, spread
from draftgate.analysis.rates import acceptance_length, length_matched, position_rates
from draftgate.analysis.steps import Steps, measured_steps, trace_steps
from draftgate.analysis.within_request import by_relative_position, heat_map
from draftgate.measure import metrics

ROUNDS = rounds_and_k(min_k=1)
unhurried = settings(deadline=None)  # the first example imports scipy


def steps(emitted: list[int], k: int = 3, name: str = "r") -> Steps:
    counts = np.array(emitted, dtype=np.int64)
    position = np.cumsum([1, *emitted])[:-1]
    drafted = np.full(len(counts), k)
    return Steps(name, 1 + int(counts.sum()), position, counts, counts, drafted)


@given(ROUNDS)
def test_steps_hold_every_verification_and_all_that_was_accepted(drawn) -> None:
    record, _ = drawn
    for found, source in zip(measured_steps(record), record.requests, strict=True):
        assert sorted(found.drafted[found.drafted > 0]) == sorted(source.drafted)
        assert (found.emitted - 1).sum() == sum(source.accepted)
        assert (found.position >= 1).all()
        assert (found.position < found.output_tokens).all()
        assert found.returned.sum() == max(found.output_tokens - source.emitted[0], 0)


@unhurried
@given(ROUNDS)
def test_rates_and_lengths_are_those_of_the_counters(drawn) -> None:
    record, k = drawn
    found = measured_steps(record)
    length = acceptance_length(found)
    assert (length and length.value) == pytest.approx(metrics.acceptance_length(record))
    marginal = [rate.marginal.value for rate in position_rates(found, k)]
    assert marginal == pytest.approx(list(metrics.per_position_acceptance_rate(record, k) or ()))


@unhurried
@given(ROUNDS, st.integers(1, 12))
def test_bins_share_out_all_steps(drawn, bins: int) -> None:
    found = measured_steps(drawn[0])
    curve = by_relative_position(found, bins)
    assert sum(b.tokens_per_step.count for b in curve) == sum(len(s.position) for s in found)
    summed = sum(b.tokens_per_step.count * b.tokens_per_step.value for b in curve)
    assert summed == pytest.approx(sum(int(s.returned.sum()) for s in found))
    assert heat_map(found, bins).shape == (len(found), bins)


def test_a_trace_has_a_step_at_every_position() -> None:
    [found] = trace_steps(trace(request(5, ngram=[1, 3, 2, 1])), "ngram")
    assert found.position.tolist() == [1, 2, 3]
    assert found.emitted.tolist() == [3, 2, 1]


def test_copies_of_a_prompt_count_once() -> None:
    twice = example_round(requests=[example_request(), example_request()])
    assert len(measured_steps(twice)) == 1


def test_conditional_rates_ask_only_drafts_that_reach_the_position() -> None:
    emitted = np.array([1, 2, 4])
    ragged = Steps("r", 9, np.array([1, 2, 4]), emitted, emitted, np.array([3, 1, 3]))
    first, second, third = position_rates([ragged], 3)
    assert first.conditional.value == pytest.approx(2 / 3)
    assert second.conditional.value == 1.0  # of the two that passed, one had a second draft
    assert second.marginal.value == pytest.approx(1 / 3)
    assert third.conditional.value == 1.0


def test_noise_needs_two_requests_and_vanishes_where_they_agree() -> None:
    assert acceptance_length([steps([2, 4])]).half_width is None
    assert acceptance_length([steps([2, 4]), steps([4, 2])]).half_width == 0.0
    assert acceptance_length([steps([2, 2]), steps([4, 4])]).half_width > 0


def test_a_run_that_stops_early_is_compared_over_what_it_has() -> None:
    whole, cut = steps([4, 4, 4, 1, 1, 1]), steps([4, 4, 4])
    assert acceptance_length([whole]).value < acceptance_length([cut]).value
    matched = length_matched([whole], [cut])
    assert matched.first.value == matched.second.value == 4.0
    assert (matched.prompts, matched.tokens) == (1, 13)
    assert length_matched([whole], [steps([2], name="other")]) is None


def test_bursts_show_as_longer_runs_and_as_correlation() -> None:
    block, mixed = [4] * 8 + [1] * 8, [4, 1] * 8
    assert burstiness([steps(block)], 4) > 1 > burstiness([steps(mixed)], 4)
    assert autocorrelation([steps(block)]).value > 0.5
    assert autocorrelation([steps(mixed)]).value < -0.5
    assert burstiness([steps([1, 1])], 4) is None
    assert autocorrelation([steps([2, 2, 2])]) is None


def test_steps_in_random_order_show_no_bursts() -> None:
    random = np.random.default_rng(0)
    shuffled = [steps(random.permutation([4] * 6 + [1] * 6).tolist()) for _ in range(400)]
    correlation = autocorrelation(shuffled)
    assert abs(correlation.value) < correlation.noise
    assert burstiness(shuffled, 4) == pytest.approx(1.0, abs=0.05)


def test_the_spread_is_over_requests() -> None:
    found = [steps([1, 1], name="a"), steps([4], name="b"), steps([], name="c")]
    assert per_request(found) == {"a": 1.0, "b": 4.0}
    summary = spread(found)
    assert (summary.requests, summary.mean, summary.median) == (2, 2.5, 2.5)
    assert spread([steps([])]) is None
