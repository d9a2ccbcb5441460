import pytest
from hypothesis import given
from round_strategies import (
    counters_of,
    example_control,
    example_request,
    example_round,
    rounds_and_k,
)

from draftgate.measure.identities import check


def names(rounds, k):
    return {broken.identity for broken in check(rounds, k)}


@given(rounds_and_k())
def test_consistent_rounds_break_nothing(pair):
    record, k = pair
    assert check([record, record.model_copy(update={"wall_s": record.wall_s + 1})], k) == []


def test_the_example_is_consistent():
    assert check([example_round()], 3) == []
    assert check([example_control()], 0) == []


def with_counters(**changes):
    return example_round(counters=example_round().counters.model_copy(update=changes))


def with_request(k=3, **changes):
    """One request changed, the counters recounted, so that only the request's own law can break."""
    records = (example_request(**changes), example_round().requests[1])
    return example_round(requests=records, counters=counters_of(records, k))


@pytest.mark.parametrize(
    ("identity", "record"),
    [
        ("per_position_sums_to_al", with_counters(accepted_tokens=7)),
        ("per_position_sums_to_al", with_counters(per_position=(3, 2, 0))),
        ("al_in_range", with_counters(accepted_tokens=10)),
        ("per_position_not_increasing", with_counters(per_position=(2, 3, 1))),
        ("per_position_not_increasing", with_counters(per_position=(3, 2))),
        ("counters_equal_requests", with_counters(drafts=4)),
        ("counters_equal_requests", with_counters(draft_tokens=8)),
        ("counters_equal_requests", with_counters(per_position=(3, 3, 0))),
        ("accepted_within_drafted", with_request(drafted=(0, 3))),
        ("accepted_within_drafted", with_request(drafted=(3, 4))),
        ("accepted_within_drafted", with_request(accepted=(1, -2))),
        ("accepted_within_drafted", with_request(accepted=(1,))),
        ("output_length", with_request(output_token_ids=(1, 2, 3))),
        ("output_length", with_request(emitted=(1, 3, 0, 2))),
        ("emitted_follows_acceptance", with_request(accepted=(2, 2))),
        ("emitted_follows_acceptance", with_request(accepted=(1, 0))),
        ("emitted_follows_acceptance", with_request(emitted=(1, 1, 2, 2), accepted=(0, 2))),
        ("emitted_follows_acceptance", with_request(emitted=(3, 3))),
        ("one_token_without_sd", example_round(counters=None)),
        ("finished", with_request(finish_reason=None)),
        ("finished", example_round(requests=(), counters=counters_of((), 3))),
        ("steps_cover_outputs", example_round(steps=3)),
        ("steps_cover_outputs", example_round(batch_size=1)),
        ("times_ordered", with_request(ttft_s=0.0)),
        ("times_ordered", with_request(ttft_s=0.7)),
        ("times_ordered", with_request(e2e_s=2.1)),
        ("times_ordered", example_round(wall_s=0.0)),
        ("times_ordered", example_round(wall_s=float("nan"))),
    ],
)
def test_a_corruption_breaks_the_named_identity(identity, record):
    assert identity in names([record], 3)


@pytest.mark.parametrize(
    "record",
    [
        example_control(
            requests=(example_request(emitted=(1, 2, 1, 1, 1), drafted=(), accepted=()),)
        ),
        example_control(requests=(example_request(emitted=(1,) * 6),)),
    ],
)
def test_without_sd_nothing_is_drafted_and_a_step_is_a_token(record):
    assert "one_token_without_sd" in names([record], 0)


def test_counters_must_exist_exactly_where_k_is_positive():
    assert "one_token_without_sd" in names([example_control()], 3)
    assert "one_token_without_sd" in names([example_round()], 0)


@pytest.mark.parametrize(
    "other",
    [
        with_counters(drafts=4),
        with_request(output_token_ids=(1, 2, 3, 4, 5, 7)),
        with_request(finish_reason="length"),
        with_request(prompt_id="other"),
        with_request(drafted=(3, 2)),
        example_round(requests=example_round().requests[:1]),
    ],
)
def test_rounds_must_agree(other):
    assert "rounds_agree" in names([example_round(), other], 3)


def test_no_round_is_broken():
    assert names([], 3) == {"finished"}


@given(rounds_and_k(min_k=1))
def test_any_changed_counter_is_noticed(pair):
    record, k = pair
    for name in ("drafts", "draft_tokens", "accepted_tokens"):
        counters = record.counters.model_copy(update={name: getattr(record.counters, name) + 1})
        changed = record.model_copy(update={"counters": counters})
        assert "counters_equal_requests" in names([changed], k)


@given(rounds_and_k())
def test_any_lost_token_is_noticed(pair):
    record, k = pair
    first = record.requests[0]
    cut = first.model_copy(update={"output_token_ids": first.output_token_ids[:-1]})
    changed = record.model_copy(update={"requests": (cut, *record.requests[1:])})
    assert "output_length" in names([changed], k)
    assert "rounds_agree" in names([record, changed], k)
