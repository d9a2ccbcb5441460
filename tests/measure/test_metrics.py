import math

import numpy as np
import pytest
from hypothesis import given
from round_strategies import example_control, example_round, rounds_and_k

from draftgate.engine.records import SpecCounters
from draftgate.measure import metrics
from draftgate.measure.exact import ExactMetrics


def test_acceptance_of_a_known_round():
    record = example_round()
    assert metrics.acceptance_length(record) == 1 + 6 / 3
    assert metrics.acceptance_length_per_request(record) == ((1 + 3 / 2) + (1 + 3)) / 2
    assert metrics.draft_acceptance_rate(record) == 6 / 9
    assert metrics.per_position_acceptance_rate(record, 3) == (1.0, 2 / 3, 1 / 3)
    assert metrics.drafted_tokens(record) == 9


def test_steps_and_throughput_of_a_known_round():
    record = example_round()
    assert metrics.decode_tokens(record) == 8
    assert metrics.decode_steps(record) == 4
    assert metrics.tokens_per_step(record) == 2.0
    assert metrics.output_throughput(record) == 5.0
    assert metrics.step_time_ms(record) == 500.0
    assert metrics.speedup(record, example_control()) == 2.0


def test_latencies_of_a_known_round():
    record = example_round()
    assert metrics.ttfts_ms([record]) == pytest.approx((100, 200))
    assert metrics.tpots_ms([record]) == pytest.approx((500 / 5, 300 / 3))
    summary = metrics.summary_ms("ttft", metrics.ttfts_ms([record]))
    assert summary["mean_ttft_ms"] == summary["median_ttft_ms"] == pytest.approx(150)
    assert summary["p99_ttft_ms"] == pytest.approx(np.percentile([100, 200], 99))


def test_without_speculative_decoding_acceptance_does_not_exist_and_a_step_is_a_token():
    control = example_control()
    assert metrics.acceptance_length(control) is None
    assert metrics.per_position_acceptance_rate(control, 0) is None
    assert metrics.drafted_tokens(control) is None
    assert metrics.tokens_per_step(control) == 1.0


def test_a_variant_that_never_drafted_has_no_acceptance_length():
    empty = SpecCounters(drafts=0, draft_tokens=0, accepted_tokens=0, per_position=(0, 0, 0))
    record = example_round(counters=empty)
    assert metrics.acceptance_length(record) is None
    assert metrics.draft_acceptance_rate(record) is None


def test_one_token_outputs_have_no_decode_step_and_no_tpot():
    request = (
        example_round()
        .requests[0]
        .model_copy(
            update={"output_token_ids": (1,), "emitted": (1,), "drafted": (), "accepted": ()}
        )
    )
    record = example_round(requests=(request,), counters=None)
    assert metrics.tokens_per_step(record) is None
    assert metrics.tpots_ms([record]) == ()
    assert "mean_tpot_ms" not in metrics.timed_samples([record])


def test_timed_samples_pair_rounds_with_their_controls():
    samples = metrics.timed_samples(
        [example_round(), example_round(wall_s=4.0)], [example_control(), example_control()]
    )
    assert samples["speedup"] == (2.0, 1.0)
    assert samples["output_throughput"] == (5.0, 2.5)
    assert "speedup" not in metrics.timed_samples([example_round()])


def test_outputs_hash_sees_tokens_and_where_a_request_ends():
    record = example_round()
    first, second = record.requests
    moved = (
        first.model_copy(update={"output_token_ids": (*first.output_token_ids, 7)}),
        second.model_copy(update={"output_token_ids": second.output_token_ids[1:]}),
    )
    assert metrics.outputs_hash(record) == metrics.outputs_hash(example_control())
    assert metrics.outputs_hash(example_round(requests=moved)) != metrics.outputs_hash(record)
    assert metrics.request_hash(first) != metrics.request_hash(second)


@given(rounds_and_k(min_k=1))
def test_exact_metrics_carry_the_same_ratios_as_the_round(pair):
    record, _ = pair
    exact = ExactMetrics.of(record)
    assert exact.acceptance_length == metrics.acceptance_length(record)
    assert exact.tokens_per_step == metrics.tokens_per_step(record)
    assert exact.output_tokens == exact.decode_tokens + len(record.requests)


@given(rounds_and_k(min_k=1))
def test_acceptance_length_of_per_position_rates(pair):
    record, k = pair
    rates = metrics.per_position_acceptance_rate(record, k)
    if rates is not None:
        assert len(rates) == k
        assert math.isclose(1 + sum(rates), metrics.acceptance_length(record))
