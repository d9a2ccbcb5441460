import json

import pytest

from draftgate.verdict.cause import Factors
from draftgate.verdict.exact import judge_exact
from draftgate.verdict.kinds import FailurePolicy, VerdictKind
from draftgate.verdict.precondition import precondition
from draftgate.verdict.timed import judge_timed
from draftgate.verdict.verdict import Verdict

CELL = "llama-tiny/eagle3-k3/gsm8k/bs8"

RECORD_KEYS = [
    *("cell", "metric", "verdict", "value", "baseline", "unit", "ratio"),
    *("ci_low", "ci_high", "p", "n", "limit", "cause"),
]


def test_the_line_of_a_timed_regression_is_complete():
    verdict = Verdict(
        CELL,
        "speedup",
        VerdictKind.REGRESSED,
        value=1.742,
        baseline=1.871,
        ratio=0.931,
        ci_low=0.920,
        ci_high=0.942,
        p=0.0004,
        n=10,
        limit=0.03,
        counted="pairs",
        cause=Factors(0.931, 1.0, 1.071, {"verify": 0.9}).text(),
    )
    assert verdict.line() == (
        f"REGRESSED {CELL} speedup 1.871 -> 1.742 (-6.9 %, 95 % CI -8.0..-5.8, p=0.0004, "
        "n=10 pairs, limit -3 %); step time +7.1 % (verify +0.9 ms), acceptance unchanged"
    )


def test_the_line_of_an_exact_regression_names_the_counts():
    verdict = judge_exact(
        CELL, "acceptance_length", 2.742, 2.871, counts={"accepted_tokens": (1234, 1200)}
    )
    assert verdict.line() == (
        f"REGRESSED {CELL} acceptance_length 2.871 -> 2.742 "
        "(accepted_tokens 1234 -> 1200, limit exact)"
    )


def test_values_that_differ_behind_the_fourth_digit_are_shown_in_full():
    line = judge_exact(CELL, "acceptance_length", 2.87101, 2.87102).line()
    assert "2.87102 -> 2.87101" in line


def test_a_time_needs_no_more_than_four_digits():
    verdict = judge_timed(CELL, "speedup", [[1.354064] * 5], [[1.353607] * 5], 0.05, True)
    assert "speedup 1.354 -> 1.354 (" in verdict.line()


def test_a_time_has_a_limit_upwards():
    verdict = judge_timed(CELL, "step_time_ms", [[11.0] * 5], [[10.0] * 5], 0.05, False, unit="ms")
    assert "step_time_ms 10.00 -> 11.00 ms (+10.0 %" in verdict.line()
    assert "limit +5 %" in verdict.line()


def test_hashes_are_short():
    line = judge_exact(CELL, "outputs", "ab" * 32, "cd" * 32, higher_is_better=None).line()
    assert "outputs cdcdcdcdcdcd -> abababababab (limit exact)" in line


@pytest.mark.parametrize(
    "verdict",
    [
        judge_exact(CELL, "per_position_acceptance_rate", (0.5, 0.25), (0.5, 0.5)),
        judge_timed(CELL, "speedup", [[1.0] * 3], [[2.0] * 3], 0.1, cause="step time +50.0 %"),
        judge_timed(CELL, "speedup", [[1.0] * 3], None, 0.1),
    ],
)
def test_the_record_is_flat_json_with_the_agreed_keys(verdict):
    record = verdict.record()
    assert list(record) == RECORD_KEYS
    assert json.loads(json.dumps(record, allow_nan=False))["verdict"] == verdict.verdict


def test_preconditions():
    same = {"workload_hash": "a" * 64, "baseline_workload_hash": "a" * 64}
    assert precondition(CELL, "speedup", **same) is None
    invalid = precondition(CELL, "speedup", broken=["al_in_range: 9", "x"], **same)
    assert invalid is not None
    assert invalid.line() == (
        f"INVALID {CELL} speedup (identity broken: al_in_range: 9 (and 1 more))"
    )
    stale = precondition(CELL, "speedup", **{**same, "baseline_workload_hash": "b" * 64})
    assert stale is not None
    assert stale.verdict is VerdictKind.STALE
    assert "workload_hash bbbbbbbbbbbb -> aaaaaaaaaaaa" in stale.line()
    missing = precondition(CELL, "speedup", workload_hash="a" * 64, value=1.5)
    assert missing is not None
    assert missing.line() == (
        f"UNBASELINED {CELL} speedup 1.500 (no baseline; create one with --update-baselines=new)"
    )


FAILING = {"INVALID", "REGRESSED", "SUSPECT", "STALE"}


@pytest.mark.parametrize("kind", list(VerdictKind))
def test_which_kinds_fail(kind):
    timed = Verdict(CELL, "speedup", kind, limit=0.1)
    exact = Verdict(CELL, "acceptance_length", kind, limit=0.0)
    assert timed.fails() == (kind in FAILING)
    assert exact.fails() == (kind in {*FAILING, "IMPLAUSIBLE"})
    strict = FailurePolicy(require_baseline=True, implausible_timed=True)
    assert timed.fails(strict) == (kind in {*FAILING, "IMPLAUSIBLE", "UNBASELINED"})
