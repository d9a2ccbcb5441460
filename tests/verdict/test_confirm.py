import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from draftgate.verdict.confirm import judge_confirmation, needs_confirmation
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.noise import NoiseModel
from draftgate.verdict.paired import paired_difference
from draftgate.verdict.rule import TimedRule
from draftgate.verdict.verdict import Verdict

SUSPECT = Verdict(
    "t/v/w/bs1", "output_throughput", VerdictKind.SUSPECT, value=93.0, baseline=100.0, limit=0.03
)
WOBBLE = (1.002, 0.999, 1.001, 0.998)
RULE = TimedRule(family_size=24)

ratio = st.floats(0.8, 1.25)
sessions = st.lists(
    st.lists(st.tuples(st.floats(80, 120), st.floats(80, 120)), min_size=2, max_size=6),
    min_size=1,
    max_size=4,
).filter(lambda found: sum(map(len, found)) >= 3)


def pairs(factor, reference=93.0, starts=3):
    """Quiet pairs, the candidate at ``factor`` of the reference."""
    return [[(reference * factor * w, reference) for w in WOBBLE] for _ in range(starts)]


def kind(screened, found, rule=RULE):
    return judge_confirmation(screened, found, rule=rule).verdict


def test_a_loss_against_the_reference_is_regressed():
    verdict = judge_confirmation(SUSPECT, pairs(0.93, 100.0), rule=RULE, cause="step time +7.5 %")
    assert verdict.verdict is VerdictKind.REGRESSED
    assert verdict.fails()
    assert verdict.ratio == pytest.approx(0.93, rel=1e-3)
    assert verdict.ci_low < 0.93 < verdict.ci_high
    assert verdict.line().startswith(
        "REGRESSED t/v/w/bs1 output_throughput 100.0 -> 93.00 (-7.0 %, 95 % CI "
    )
    assert (
        "n=12 pairs of 3 starts, limit -3 %, against the reference; baseline 100.0)"
        in verdict.line()
    )
    assert verdict.line().endswith("; step time +7.5 %")


def test_an_equally_slow_reference_is_a_drift_of_the_baseline():
    verdict = judge_confirmation(SUSPECT, pairs(1.0), rule=RULE, cause="step time +7.5 %")
    assert verdict.verdict is VerdictKind.BASELINE_DRIFT
    assert not verdict.fails()
    assert "the reference is -7.0 % from the baseline 100.0 as well" in verdict.line()
    assert not verdict.cause


def test_a_reference_where_the_baseline_is_clears_the_suspect():
    assert kind(SUSPECT, pairs(0.99, 100.0)) is VerdictKind.OK


def test_a_metric_without_stored_baseline_is_judged_too():
    assert kind(replace(SUSPECT, baseline=None), pairs(1.0)) is VerdictKind.OK


def test_times_regress_upwards():
    slower = replace(SUSPECT, value=107.0, higher_is_better=False)
    assert kind(slower, pairs(1.07, 100.0)) is VerdictKind.REGRESSED
    assert kind(slower, pairs(1.0, 107.0)) is VerdictKind.BASELINE_DRIFT
    assert kind(slower, pairs(1.0, 100.0)) is VerdictKind.OK


def test_a_loss_that_may_be_chance_among_many_cells_is_listed_not_failed():
    one_start = pairs(0.95, 100.0, starts=1)
    noise = NoiseModel(start_sd_floor=0.01)
    assert kind(SUSPECT, one_start, TimedRule(noise=noise)) is VerdictKind.REGRESSED
    verdict = judge_confirmation(SUSPECT, one_start, rule=replace(RULE, noise=noise))
    assert verdict.verdict is VerdictKind.UNSTABLE
    assert "pairs can tell" in verdict.line()


def test_noisy_pairs_tell_nothing():
    noisy = [[(80.0, 100.0), (125.0, 100.0), (99.0, 100.0)]]
    assert kind(SUSPECT, noisy) is VerdictKind.UNSTABLE


@pytest.mark.parametrize("few", [[], [[]], [[(90.0, 100.0)], [(90.0, 100.0)]]])
def test_too_few_pairs_leave_the_suspect(few):
    verdict = judge_confirmation(SUSPECT, few, rule=RULE)
    assert verdict.verdict is VerdictKind.SUSPECT
    assert verdict.value == SUSPECT.value
    assert "fewer than 3" in verdict.line()


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_value_that_is_no_positive_number_is_invalid(bad):
    assert kind(SUSPECT, [*pairs(1.0), [(bad, 1.0)]]) is VerdictKind.INVALID


def test_a_verdict_without_limit_cannot_be_confirmed():
    with pytest.raises(ValueError, match="limit"):
        kind(replace(SUSPECT, limit=None), pairs(1.0))


def test_which_verdicts_need_confirmation():
    found = {kind for kind in VerdictKind if needs_confirmation(replace(SUSPECT, verdict=kind))}
    assert found == {VerdictKind.SUSPECT, VerdictKind.REGRESSED}
    assert not needs_confirmation(replace(SUSPECT, limit=0.0))


SEVERITY = [
    VerdictKind.OK,
    VerdictKind.BASELINE_DRIFT,
    VerdictKind.UNSTABLE,
    VerdictKind.REGRESSED,
]


@given(sessions, st.floats(0.5, 1.0))
def test_a_worse_candidate_never_gets_a_better_verdict(found, factor):
    worse = [[(factor * value, other) for value, other in session] for session in found]
    assert SEVERITY.index(kind(SUSPECT, worse)) >= SEVERITY.index(kind(SUSPECT, found))


@given(sessions, st.floats(1e-3, 1e3))
def test_the_unit_does_not_matter(found, factor):
    other = [[(factor * value, factor * ref) for value, ref in session] for session in found]
    plain, scaled = (paired_difference(s, NoiseModel()) for s in (found, other))
    assert plain.log_ratio == pytest.approx(scaled.log_ratio, abs=1e-9)
    assert plain.standard_error == pytest.approx(scaled.standard_error)


@given(sessions)
def test_swapping_the_sides_turns_the_difference_round(found):
    swapped = [[(ref, value) for value, ref in session] for session in found]
    plain, other = (paired_difference(s, NoiseModel()) for s in (found, swapped))
    assert other.log_ratio == pytest.approx(-plain.log_ratio, abs=1e-9)
    assert other.standard_error == pytest.approx(plain.standard_error)
    assert other.p_below() == pytest.approx(plain.p_above(), abs=1e-9)


@given(sessions, st.integers(1, 50), st.integers(1, 50))
def test_more_comparisons_never_add_a_regression(found, few, more):
    assume(few <= more)
    loose, strict = (kind(SUSPECT, found, TimedRule(family_size=m)) for m in (few, more))
    if strict is VerdictKind.REGRESSED:
        assert loose is VerdictKind.REGRESSED


def significant_share(starts, shift_sd, loss=0.0, level=0.05, draws=1000):
    """Of gates whose engines' starts shift by ``shift_sd``, where 1 % is stated."""
    random = np.random.default_rng(11)

    def significant():
        shift = random.normal(-loss, shift_sd * math.sqrt(2), (starts, 1))
        ratios = np.exp(shift + random.normal(0, 0.01, (starts, 4)))
        found = [[(ratio, 1.0) for ratio in session] for session in ratios]
        return paired_difference(found, NoiseModel(start_sd_floor=0.01)).p_below() < level

    return np.mean([significant() for _ in range(draws)])


@pytest.mark.parametrize("starts", [1, 3, 4])
def test_the_shift_between_starts_keeps_the_level(starts):
    """Without it, pairs of one start would turn a third of equal arms significant."""
    assert significant_share(starts, 0.01) < 0.07


def test_starts_tell_where_the_stated_shift_is_too_small():
    """Twice as large as stated: one start cannot know, eight make up for part of it."""
    assert significant_share(8, 0.02) < 0.14 < significant_share(1, 0.02)


def test_few_starts_find_a_loss_all_the_same():
    """t with three degrees of freedom alone would miss it in a third of the gates."""
    assert significant_share(4, 0.01, loss=0.05, level=0.001) > 0.95


def test_who_was_started_first_makes_no_difference_unsure():
    """The order is worth 10 %, alternates, and cancels in neighbouring starts."""
    turns = [pairs(factor, 100.0, starts=1)[0] for factor in (0.855, 0.945) * 3]
    plain = pairs(0.9, 100.0, starts=6)
    noise = NoiseModel(start_sd_floor=0.01)
    found, still = (paired_difference(sessions, noise) for sessions in (turns, plain))
    assert found.log_ratio == pytest.approx(still.log_ratio, abs=0.002)
    assert found.standard_error < 2 * still.standard_error
    assert kind(SUSPECT, turns) is VerdictKind.REGRESSED


def test_a_verdict_says_over_how_many_starts_it_is():
    assert "n=12 pairs of 3 starts" in judge_confirmation(SUSPECT, pairs(0.9)).line()
    assert "n=4 pairs," in judge_confirmation(SUSPECT, pairs(0.9, starts=1)).line()
