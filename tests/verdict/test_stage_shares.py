"""A stage regresses where its share rose because it got dearer, not because others got cheaper."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.stages import judge_share, stage_changes

CELL = "t/v-k3/w/bs1"
BASELINE = {
    "draft": [[1.0, 1.01, 0.99]],
    "verify": [[5.0, 5.02, 4.98]],
    "sample": [[0.5, 0.51, 0.5]],
    "overhead": [[2.0, 2.0, 2.01]],
}


def scaled(**factors):
    return {
        stage: [[factors.get(stage, 1.0) * ms for ms in session] for session in sessions]
        for stage, sessions in BASELINE.items()
    }


def judge(measured, stage="draft", baseline=BASELINE, limit=0.2):
    return judge_share(CELL, stage, measured, baseline, limit)


def test_a_stage_that_got_dearer_regresses_and_the_cause_says_by_how_much():
    verdict = judge(scaled(draft=2.0))
    assert verdict.verdict is VerdictKind.REGRESSED
    assert verdict.cause.startswith("draft +1 ms")
    assert verdict.value == pytest.approx(2 / 9.5, rel=0.02)
    assert "n=3 groups of steps" in verdict.line()
    assert "limit +20 %" in verdict.line()


def test_a_burst_in_one_of_two_rounds_is_noise():
    quiet = {stage: [2 * sessions[0]] for stage, sessions in BASELINE.items()}
    hit = {
        **quiet,
        "draft": [[ms * f for ms, f in zip(quiet["draft"][0], (1, 1, 1, 2, 2, 2), strict=True)]],
    }
    assert judge(hit).verdict is VerdictKind.UNSTABLE
    dearer = {**quiet, "draft": [[2 * ms for ms in quiet["draft"][0]]]}
    assert judge(dearer).verdict is VerdictKind.REGRESSED


def test_a_share_that_rose_because_another_stage_got_cheaper_is_no_loss():
    verdict = judge(scaled(verify=0.5))
    assert verdict.verdict is VerdictKind.OK
    assert "others got cheaper" in verdict.evidence


def test_a_share_may_fall_by_any_amount():
    assert judge(scaled(draft=0.3)).verdict is VerdictKind.IMPROVED


@pytest.mark.parametrize(
    "baseline",
    [
        None,
        {},
        {**BASELINE, "verify": [[5.0, 5.02]]},  # no groups of steps to add up
    ],
)
def test_without_the_stage_in_the_baseline_there_is_nothing_to_compare(baseline):
    assert judge(BASELINE, baseline=baseline).verdict is VerdictKind.UNBASELINED


def test_a_control_has_no_draft_stage():
    control = {stage: ms for stage, ms in BASELINE.items() if stage != "draft"}
    assert judge(control, "verify", control).verdict is VerdictKind.OK
    with pytest.raises(KeyError):
        judge(control)


@given(st.floats(0.5, 2.0), st.sampled_from(sorted(BASELINE)))
def test_a_slower_machine_changes_no_share(factor, stage):
    slower = scaled(**dict.fromkeys(BASELINE, factor))
    verdict = judge(slower, stage)
    assert verdict.verdict is VerdictKind.OK
    assert verdict.ratio == pytest.approx(1)


def test_what_moved_most_comes_first():
    assert stage_changes(scaled(verify=1.2, draft=1.1), BASELINE).startswith(
        "verify +1 ms, draft +0.1 ms"
    )


@pytest.mark.parametrize("stages", [("verify",), ("draft", "verify")])
def test_a_share_of_other_stages_is_another_share(stages):
    """A stage that is no longer told, or told since, must not make the others pass."""
    found = judge(BASELINE, baseline={stage: BASELINE[stage] for stage in stages})
    assert found.verdict is VerdictKind.INVALID
    assert "stages draft/verify/sample/overhead, the baseline's" in found.line()
