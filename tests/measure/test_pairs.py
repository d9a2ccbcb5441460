import pytest
from round_strategies import example_control, example_round

from draftgate.measure.pairs import Pairs, median_ratio, speedup_pairs


def slowed(record, factor):
    return record.model_copy(update={"wall_s": record.wall_s * factor})


def pairs_of(record, factors):
    """The reference at ``record``'s own speed, the candidate slower by each of ``factors``."""
    return Pairs(tuple(slowed(record, f) for f in factors), (record,) * len(factors))


def test_pairs_hold_candidate_and_reference_side_by_side():
    pairs = pairs_of(example_round(), (1.0, 1.25))
    (same, other), (slow, reference) = pairs.of("output_throughput")
    assert same == other == reference
    assert slow == pytest.approx(reference / 1.25)
    assert median_ratio([pairs], "step_time_ms") == pytest.approx(1.125)
    assert pairs.tokens_per_step_ratio() == 1.0


def test_all_starts_have_their_say_in_the_median():
    starts = [pairs_of(example_round(), factors) for factors in ((1.0,), (1.1, 1.3))]
    assert median_ratio(starts, "step_time_ms") == pytest.approx(1.1)


def test_a_metric_that_the_rounds_lack_has_no_pairs():
    pairs = pairs_of(example_round(), (1.0,))
    assert pairs.of("speedup") == ()
    assert median_ratio([pairs], "speedup") is None
    assert "speedup" not in pairs.metrics()


def test_what_slows_arm_and_control_alike_leaves_the_speedup_alone():
    arm = pairs_of(example_round(), (1.2, 1.5))
    control = pairs_of(example_control(), (1.2, 1.5))
    for candidate, reference in speedup_pairs(arm, control):
        assert candidate == pytest.approx(reference)
