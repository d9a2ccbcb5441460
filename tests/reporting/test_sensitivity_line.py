"""The line that says what a run could have found."""

from __future__ import annotations

from math import inf

import pytest

from draftgate.reporting.sensitivity_line import sensitivity_line
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.sensitivity import Sensitivity
from draftgate.verdict.verdict import Verdict


def weighed(*detectable: float) -> list[Verdict]:
    return [
        Verdict("c", "m", VerdictKind.OK, sensitivity=Sensitivity(0.01, inf, 0.01, 0.8, loss))
        for loss in detectable
    ]


@pytest.mark.parametrize(
    ("detectable", "said"),
    [
        ((0.106,), "m 10.6 %"),
        ((0.121, 0.106), "m 10.6..12.1 %"),
        ((0.6, 8e11), "m 60.0..over 100 %"),  # a share of next to nothing may rise without end
        ((3.0, 8e11), "m over 100 %"),
    ],
)
def test_best_to_worst_cell(detectable: tuple[float, ...], said: str) -> None:
    line = sensitivity_line(weighed(*detectable))
    assert line == f"smallest detectable loss (80 % power): {said}"


def test_nothing_weighed_nothing_said() -> None:
    assert sensitivity_line([Verdict("c", "m", VerdictKind.OK)]) == ""
