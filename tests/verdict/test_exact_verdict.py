import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftgate.verdict.exact import judge_exact
from draftgate.verdict.exact_cell import judge_exact_cell
from draftgate.verdict.kinds import VerdictKind

COUNTS = {
    "outputs_hash": "ab" * 32,
    "output_tokens": 1900,
    "decode_tokens": 1890,
    "decode_steps": 700,
    "num_drafts": 660,
    "draft_tokens": 1980,
    "accepted_tokens": 1234,
    "accepted_per_position": (600, 400, 234),
}

CONTROL = {name: COUNTS[name] for name in list(COUNTS)[:3]} | {"decode_steps": 1890}


def kinds(measured, baseline):
    return {v.metric: v.verdict for v in judge_exact_cell("c", measured, baseline)}


def test_equal_counts_are_ok():
    assert set(kinds(COUNTS, dict(COUNTS)).values()) == {VerdictKind.OK}
    assert len(kinds(COUNTS, COUNTS)) == 5


@pytest.mark.parametrize(
    ("name", "value", "metric", "kind"),
    [
        ("accepted_tokens", 1200, "acceptance_length", VerdictKind.REGRESSED),
        ("accepted_tokens", 1235, "acceptance_length", VerdictKind.IMPLAUSIBLE),
        ("num_drafts", 659, "acceptance_length", VerdictKind.IMPLAUSIBLE),
        (
            "accepted_per_position",
            (600, 401, 233),
            "per_position_acceptance_rate",
            VerdictKind.REGRESSED,
        ),
        (
            "accepted_per_position",
            (600, 400, 235),
            "per_position_acceptance_rate",
            VerdictKind.IMPLAUSIBLE,
        ),
        ("draft_tokens", 1981, "drafted_tokens", VerdictKind.REGRESSED),
        ("decode_steps", 701, "tokens_per_step", VerdictKind.REGRESSED),
        ("decode_tokens", 1891, "tokens_per_step", VerdictKind.IMPLAUSIBLE),
        ("outputs_hash", "cd" * 32, "outputs", VerdictKind.REGRESSED),
        ("output_tokens", 1901, "outputs", VerdictKind.REGRESSED),
    ],
)
def test_each_count_turns_its_metric_red(name, value, metric, kind):
    verdicts = {v.metric: v for v in judge_exact_cell("c", {**COUNTS, name: value}, COUNTS)}
    assert verdicts[metric].verdict is kind
    assert verdicts[metric].fails()
    assert name in verdicts[metric].line()


def test_ratios_that_agree_by_chance_are_still_another_value():
    halved = {**COUNTS, "num_drafts": 330, "accepted_tokens": 617}
    assert kinds(halved, COUNTS)["acceptance_length"] is VerdictKind.REGRESSED


def test_the_control_has_outputs_and_steps_only():
    assert kinds(CONTROL, CONTROL) == {
        "outputs": VerdictKind.OK,
        "tokens_per_step": VerdictKind.OK,
    }


def test_without_baseline_every_metric_is_unbaselined():
    assert set(kinds(COUNTS, None).values()) == {VerdictKind.UNBASELINED}


def test_acceptance_that_disappeared_is_a_regression():
    gone = kinds(CONTROL, COUNTS)
    assert gone["acceptance_length"] is VerdictKind.REGRESSED
    silent = {**COUNTS, "num_drafts": 0, "accepted_tokens": 0, "accepted_per_position": (0, 0, 0)}
    [line] = [
        v.line() for v in judge_exact_cell("c", silent, COUNTS) if v.metric == "acceptance_length"
    ]
    assert line.startswith("REGRESSED c acceptance_length 2.870 -> none (")


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_exactness_is_symmetric(old, new):
    there, back = judge_exact("c", "m", new, old), judge_exact("c", "m", old, new)
    assert there.fails() == back.fails() == (old != new)
    if old != new:
        assert {there.verdict, back.verdict} == {VerdictKind.REGRESSED, VerdictKind.IMPLAUSIBLE}


@given(st.fixed_dictionaries({name: st.integers(1, 99) for name in ("num_drafts", "decode_steps")}))
def test_any_single_change_is_seen(changed):
    measured = {**COUNTS, **changed}
    red = [v for v in judge_exact_cell("c", measured, COUNTS) if v.fails()]
    assert red
