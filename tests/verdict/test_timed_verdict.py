import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.noise import NoiseModel, difference
from draftgate.verdict.timed import TimedRule, judge_timed

BASELINE = [[100.0, 101.0, 99.5], [100.5, 99.0, 100.2]]

values = st.floats(50, 200)
sessions = st.lists(st.lists(values, min_size=3, max_size=5), min_size=1, max_size=3)

SEVERITY = [
    VerdictKind.IMPLAUSIBLE,
    VerdictKind.IMPROVED,
    VerdictKind.OK,
    VerdictKind.UNSTABLE,
    VerdictKind.SUSPECT,
    VerdictKind.REGRESSED,
]


def judge(samples, baseline=BASELINE, limit=0.05, higher=True, **options):
    return judge_timed("t/v/w/bs1", "m", samples, baseline, limit, higher, **options)


def scaled(samples, factor):
    return [[factor * value for value in session] for session in samples]


@pytest.mark.parametrize(
    ("factor", "kind"),
    [
        (1.0, VerdictKind.OK),
        (0.97, VerdictKind.OK),
        (0.9, VerdictKind.REGRESSED),
        (1.1, VerdictKind.IMPROVED),
        (1.3, VerdictKind.IMPLAUSIBLE),
    ],
)
def test_kinds_of_a_quiet_metric(factor, kind):
    verdict = judge(scaled(BASELINE, factor))
    assert verdict.verdict is kind
    assert verdict.ratio == pytest.approx(factor)
    assert verdict.ci_low < factor < verdict.ci_high


def test_times_regress_upwards():
    slower = judge(scaled(BASELINE, 1.1), higher=False)
    assert slower.verdict is VerdictKind.REGRESSED
    assert slower.p < 0.05
    assert judge(scaled(BASELINE, 0.9), higher=False).verdict is VerdictKind.IMPROVED


def test_a_loss_that_can_be_confirmed_is_a_suspect():
    assert judge(scaled(BASELINE, 0.9), can_confirm=True).verdict is VerdictKind.SUSPECT
    assert judge(BASELINE, can_confirm=True).verdict is VerdictKind.OK


def test_without_baseline():
    verdict = judge([[1.0, 1.0, 1.0]], None)
    assert verdict.verdict is VerdictKind.UNBASELINED
    assert verdict.value == 1.0
    assert "--update-baselines=new" in verdict.line()


@pytest.mark.parametrize("samples", [[], [[]], [[100.0, 101.0]], [[100.0], [100.0]]])
def test_too_few_rounds_are_underpowered(samples):
    assert judge(samples).verdict is VerdictKind.UNDERPOWERED
    assert judge(BASELINE, samples).verdict is VerdictKind.UNDERPOWERED


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_a_sample_that_is_no_positive_number_is_invalid(bad):
    verdict = judge([[100.0, bad, 100.0]])
    assert verdict.verdict is VerdictKind.INVALID
    assert verdict.value is None
    assert judge(BASELINE, [[100.0, bad, 100.0]]).verdict is VerdictKind.INVALID


def test_noise_that_hides_a_loss_at_the_limit_is_unstable():
    noisy = [[80.0, 120.0, 98.0]]
    assert judge(noisy, [[100.0, 78.0, 125.0]]).verdict is VerdictKind.UNSTABLE


def test_noise_does_not_matter_where_a_loss_is_excluded_anyway():
    noisy = [[180.0, 220.0, 200.0]]
    assert judge(noisy, rule=TimedRule(implausible_gain=9)).verdict is VerdictKind.IMPROVED


@pytest.mark.parametrize("limit", [0.0, 1.0, -0.1, math.nan])
def test_a_limit_must_be_a_share(limit):
    with pytest.raises(ValueError, match="limit"):
        judge(BASELINE, limit=limit)


@given(sessions, sessions, st.floats(1e-3, 1e3), st.booleans())
def test_the_unit_does_not_matter(samples, baseline, factor, higher):
    plain = judge(samples, baseline, higher=higher)
    other = judge(scaled(samples, factor), scaled(baseline, factor), higher=higher)
    assume(near_no_threshold(plain))
    assert plain.verdict is other.verdict
    assert plain.ratio == pytest.approx(other.ratio)
    assert plain.p == pytest.approx(other.p, abs=1e-9)


@given(sessions, sessions, st.randoms())
def test_order_does_not_matter(samples, baseline, random):
    shuffled = [random.sample(session, len(session)) for session in samples]
    random.shuffle(shuffled)
    plain, other = judge(samples, baseline), judge(shuffled, baseline)
    assume(near_no_threshold(plain))
    assert plain.verdict is other.verdict
    assert plain.p == pytest.approx(other.p, abs=1e-9)


def near_no_threshold(verdict):
    """Rounding may move a value over a threshold that it sits on; not what these laws are about."""
    edges = [0.95, 1.05, 1.2, 1 / 1.05, 1 / 0.95, 0.8]
    ends = (verdict.ratio, verdict.ci_low, verdict.ci_high)
    return all(abs(end - edge) > 1e-6 for end in ends for edge in edges) and all(
        abs(verdict.p - edge) > 1e-6 for edge in (0.05, 0.95)
    )


@given(sessions, sessions, st.floats(0.5, 0.999), st.booleans())
def test_a_larger_drop_is_never_judged_better(samples, baseline, factor, higher):
    worse = scaled(samples, factor if higher else 1 / factor)
    before, after = judge(samples, baseline, higher=higher), judge(worse, baseline, higher=higher)
    assert SEVERITY.index(after.verdict) >= SEVERITY.index(before.verdict)


@given(sessions, sessions)
def test_a_value_and_its_inverse_are_mirror_images(samples, baseline):
    def inverse(groups):
        return [[1 / value for value in session] for session in groups]

    plain = difference(samples, baseline, NoiseModel())
    mirrored = difference(inverse(samples), inverse(baseline), NoiseModel())
    assert mirrored.log_ratio == pytest.approx(-plain.log_ratio, abs=1e-9)
    assert mirrored.standard_error == pytest.approx(plain.standard_error)


@given(st.floats(50, 200), st.floats(50, 200))
def test_the_floor_keeps_identical_rounds_from_certainty(value, other):
    moved = difference([[value] * 5], [[other] * 5], NoiseModel(0.01))
    assert moved.standard_error == pytest.approx(0.01 * math.sqrt(2))


def sessions_of(random, count, rounds, session_sd, round_sd):
    """Log-normal rounds around a log-normal session, mean 100."""
    shift = random.normal(0, session_sd, (count, 1))
    return (100 * np.exp(shift + random.normal(0, round_sd, (count, rounds)))).tolist()


@pytest.mark.parametrize(
    ("count", "session_sd", "round_sd"),
    [(1, 0.01, 0.02), (1, 0.02, 0.01), (3, 0.03, 0.02), (5, 0.01, 0.03), (4, 0.05, 0.01)],
)
def test_false_alarms_of_equal_arms_are_rare(count, session_sd, round_sd):
    random = np.random.default_rng(42)

    def alarm():
        arms = [sessions_of(random, count, 5, session_sd, round_sd) for _ in range(2)]
        return judge(*arms, limit=0.05).verdict is VerdictKind.REGRESSED

    assert np.mean([alarm() for _ in range(400)]) < 0.05


def test_the_test_itself_keeps_its_level_without_the_limit():
    random = np.random.default_rng(7)
    p = [
        difference(
            sessions_of(random, 3, 5, 0.02, 0.02),
            sessions_of(random, 3, 5, 0.02, 0.02),
            NoiseModel(),
        ).p_below()
        for _ in range(1000)
    ]
    assert np.mean(np.array(p) < 0.05) < 0.07


def test_a_true_drop_of_twice_the_limit_is_caught():
    random = np.random.default_rng(1)

    def caught():
        value = scaled(sessions_of(random, 3, 5, 0.01, 0.01), 0.9)
        verdict = judge(value, sessions_of(random, 3, 5, 0.01, 0.01), limit=0.05)
        return verdict.verdict is VerdictKind.REGRESSED

    assert np.mean([caught() for _ in range(200)]) > 0.95


def test_the_machines_shift_cancels_from_a_ratio_within_a_session():
    rule = TimedRule(noise=NoiseModel(session_sd_floor=0.3, ratio_sd_floor=0.005))
    kinds = {
        metric: judge_timed(
            "c", metric, [[80.0, 80.2, 79.8]], [[100.0, 100.2, 99.8]], 0.1, rule=rule
        ).verdict
        for metric in ("output_throughput", "speedup", "verify_share")
    }
    assert kinds == {
        "output_throughput": VerdictKind.UNSTABLE,
        "speedup": VerdictKind.REGRESSED,
        "verify_share": VerdictKind.REGRESSED,
    }
