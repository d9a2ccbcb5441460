from __future__ import annotations

import pytest
from round_strategies import example_control, example_round
from stage_examples import example_staged_round, example_steps

from draftgate.engine.drafts import DraftPlan
from draftgate.measure.bound import measure_bound

PLAN = DraftPlan(rule="oracle")


def bound(played=example_round, control=example_control, rounds=3, **options):
    order = []

    def play(plan, stages):
        assert plan is PLAN
        order.append("staged" if stages else "replay")
        return played()

    def play_control():
        order.append("control")
        return control()

    found = measure_bound(
        *("t/v/w/bs2", "fixed-k3", PLAN, 3),
        play=play,
        control=play_control,
        rounds=rounds,
        **options,
    )
    return found, order


def test_a_replay_is_played_beside_the_control_after_a_warm_up():
    found, order = bound()
    assert order == ["replay", "control", "replay", "replay", "control", "control", "replay"]
    assert found.speedups == (2.0, 2.0, 2.0)
    assert found.speedup == 2.0
    assert found.decode_steps == 4
    assert found.draft_acceptance_rate == pytest.approx(6 / 9)
    assert found.faults == ()


def test_other_outputs_than_the_control_s_are_a_fault():
    first, *others = example_control().requests
    changed = first.model_copy(update={"output_token_ids": (9, 9, 9, 9, 9, 9)})
    found, _ = bound(control=lambda: example_control(requests=(changed, *others)))
    assert found.faults == ("1 of 2 outputs are not the control's",)


def test_a_staged_round_comes_last():
    found, order = bound(played=example_staged_round, rounds=1, staged=True)
    assert order == ["replay", "control", "replay", "staged"]
    assert found.stages == example_steps()


def test_a_broken_identity_is_a_fault():
    found, _ = bound(played=lambda: example_round(steps=1))
    assert any(fault.startswith("steps_cover_outputs") for fault in found.faults)
