"""Outputs against the control's: equal, equal but for near-ties, or not."""

from __future__ import annotations

import pytest

from draftgate.measure.agreement import Agreement, Difference
from draftgate.verdict.equality import judge_equality
from draftgate.verdict.kinds import VerdictKind

CELL = "t/v/w/bs1"


def agreement(*gaps: float | None, tolerance: float | None = 0.3) -> Agreement:
    """Ten requests, of which one differs for each gap."""
    differences = tuple(
        Difference(request=i, prompt_id=f"p-{i}", position=7, token=11, control_token=12, gap=gap)
        for i, gap in enumerate(gaps)
    )
    return Agreement(
        equal=not gaps,
        requests=10,
        identical=10 - len(gaps),
        differences=differences,
        tolerance=tolerance,
    )


def test_equal_outputs_hold() -> None:
    verdict = judge_equality(CELL, agreement())
    assert (verdict.verdict, verdict.evidence) == (VerdictKind.OK, "")


def test_near_ties_hold_and_are_counted() -> None:
    verdict = judge_equality(CELL, agreement(0.02, 0.125))
    assert verdict.verdict is VerdictKind.OK
    assert verdict.value == 8
    assert verdict.evidence == "2 near-ties of up to 0.12 nats"


@pytest.mark.parametrize("gap", [0.31, None])
def test_one_difference_that_is_no_near_tie_fails(gap: float | None) -> None:
    verdict = judge_equality(CELL, agreement(0.02, gap, 0.125))
    assert verdict.verdict is VerdictKind.REGRESSED
    assert verdict.evidence.startswith(
        "1 of 10 outputs differ from standard decoding, first p-1 at token 7: 11 instead of 12"
    )
    assert ("0.31 nats below the likeliest" in verdict.evidence) is (gap is not None)
    assert verdict.evidence.endswith("; 2 near-ties of up to 0.12 nats")


def test_differences_that_nobody_weighed_fail() -> None:
    verdict = judge_equality(CELL, agreement(0.0, None, tolerance=None))
    assert verdict.verdict is VerdictKind.REGRESSED
    assert verdict.evidence.startswith("2 of 10 outputs differ")


def test_other_prompts_fail_whatever_is_tolerated() -> None:
    other = Agreement(equal=False, requests=10, identical=10, tolerance=0.3)
    verdict = judge_equality(CELL, other)
    assert verdict.verdict is VerdictKind.REGRESSED
    assert verdict.evidence == "the control ran other prompts"
