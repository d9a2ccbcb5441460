"""The gate's own quality, with fixed seeds: false alarms, misses, causes."""

from __future__ import annotations

import pytest

from draftgate.profile import load_profile
from draftgate.profile.model import Limits, Profile
from draftgate.verdict.power.engine_noise import QUIET_GPU, EngineNoise
from draftgate.verdict.power.fault import Fault, FaultError, FaultKind
from draftgate.verdict.power.rates import Rate
from draftgate.verdict.power.simulated_gate import Design, SimulatedGate

LOSS_OF_5_PERCENT = 1 / 0.95 - 1


@pytest.fixture(scope="module")
def profile() -> Profile:
    """The default profile's cells on a quiet GPU: with limits of 3 %."""
    profile = load_profile("cpu")
    quiet = {"session_sd": 0.01, "ratio_sd": 0.01, "start_sd": 0.005}
    plan = profile.plan.model_copy(update=quiet)
    limits = Limits(output_throughput=0.03, speedup=0.03)
    return profile.model_copy(update={"limits": limits, "plan": plan})


def rate(
    profile: Profile,
    fault: Fault | None = None,
    gates: int = 299,
    noise: EngineNoise = QUIET_GPU,
    **design: int | bool,
) -> Rate:
    fault = fault or Fault()
    gate = SimulatedGate(profile, noise, fault, Design(**design))
    return Rate.of(fault, gate.run(gates, seed=42))


def sleep(loss: float) -> Fault:
    """A sleep in every step that costs this share of the speed."""
    return Fault(FaultKind.SLEEP, 1 / (1 - loss) - 1)


def test_at_most_one_percent_of_equal_gates_is_red(profile: Profile) -> None:
    found = rate(profile, gates=1000)
    assert found.ci_high <= 0.01
    assert found.cause_right is None


def test_a_machine_whose_speed_wanders_between_sessions_gives_hardly_any(profile: Profile) -> None:
    """In every second gate all cells are suspects by the stored baseline; the pairs clear them."""
    wandering = EngineNoise(machine_sd=0.08, session_sd=0.005, round_sd=0.014)
    assert rate(profile, noise=wandering).ci_high <= 0.02


def test_a_noisy_machine_that_its_profile_states_gives_no_false_alarms(profile: Profile) -> None:
    """The floor is met exactly: the rate is the nominal 1 %, which takes many gates to see."""
    noisy = EngineNoise(machine_sd=0.10, session_sd=0.05, round_sd=0.05)
    stated = {"session_sd": noisy.between_sessions, "start_sd": noisy.session_sd}
    plan = profile.plan.model_copy(update=stated)
    told = profile.model_copy(update={"plan": plan})
    for reference in (True, False):
        assert rate(told, gates=1000, noise=noisy, reference=reference).ci_high <= 0.02


def test_a_loss_of_5_percent_in_one_cell_is_found(profile: Profile) -> None:
    """With 16 pairs, as the GPU profiles state."""
    found = rate(profile, sleep(0.05), confirm_pairs=16)
    assert found.rate >= 0.9
    assert found.cause_right == 1.0


def test_a_loss_of_5_percent_in_an_engine_is_found_always(profile: Profile) -> None:
    assert rate(profile, sleep(0.05), gates=100, hit=17).rate == 1.0


def test_one_lost_token_in_a_cell_is_found_always_and_named(profile: Profile) -> None:
    found = rate(profile, Fault(FaultKind.ACCEPTANCE, 1), gates=50)
    assert (found.rate, found.cause_right) == (1.0, 1.0)


def test_larger_faults_are_found_more_often(profile: Profile) -> None:
    rates = [rate(profile, sleep(loss), gates=150).rate for loss in (0.01, 0.04, 0.10)]
    assert rates == sorted(rates)
    assert rates[0] < 0.1
    assert rates[-1] == 1.0


def test_without_a_reference_what_may_be_chance_does_not_fail(profile: Profile) -> None:
    assert rate(profile, reference=False).rate < 0.01
    assert rate(profile, sleep(0.10), gates=100, reference=False).rate > 0.95


def test_cells_within_their_limit_are_not_sent_because_they_cannot_be_red(
    profile: Profile,
) -> None:
    for fault in (Fault(), sleep(0.05)):
        gate = SimulatedGate(profile, QUIET_GPU, fault, Design(reference=False))
        every = SimulatedGate(profile, QUIET_GPU, fault, Design(reference=False), send_all=True)
        assert gate.run(12, seed=3) == every.run(12, seed=3)


def test_gates_repeat_themselves(profile: Profile) -> None:
    assert rate(profile, sleep(0.05), gates=20) == rate(profile, sleep(0.05), gates=20)


@pytest.mark.parametrize(
    ("kind", "size", "message"),
    [
        (FaultKind.SLEEP, 0.0, "positive --size"),
        (FaultKind.SLEEP, float("nan"), "positive --size"),
        (FaultKind.ACCEPTANCE, 0.5, "whole tokens"),
    ],
)
def test_faults_that_are_none(kind: FaultKind, size: float, message: str) -> None:
    with pytest.raises(FaultError, match=message):
        Fault(kind, size)


def test_more_tokens_than_the_cell_has_cannot_be_lost(profile: Profile) -> None:
    with pytest.raises(FaultError, match="to lose"):
        rate(profile, Fault(FaultKind.ACCEPTANCE, 10**6), gates=1)


def test_a_profile_that_judges_no_speed_is_refused(profile: Profile) -> None:
    limits = profile.limits.model_copy(update={"output_throughput": None, "speedup": None})
    with pytest.raises(FaultError, match="judges no speed"):
        rate(profile.model_copy(update={"limits": limits}), gates=1)
