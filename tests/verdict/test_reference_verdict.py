from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftgate.verdict.kinds import ALWAYS_FAILING, VerdictKind
from draftgate.verdict.reference import (
    one_sided,
    settle_exact,
    settle_share,
    settle_timed,
    wants_pairs,
)
from draftgate.verdict.verdict import Verdict

CELL = "t/v/w/bs1"
BY_BASELINE = Verdict(CELL, "acceptance_length", VerdictKind.OK, 2.5, 2.5, limit=0.0)
DIFFERENT = replace(
    BY_BASELINE, verdict=VerdictKind.REGRESSED, baseline=2.6, evidence="accepted_tokens 160 -> 150"
)
EQUAL = BY_BASELINE
MAYBE = replace(DIFFERENT, verdict=VerdictKind.SUSPECT)  # acceptance with noise, on a GPU
NONE = Verdict(CELL, "acceptance_length", VerdictKind.UNBASELINED, 2.5, evidence="no baseline")
STALE = replace(NONE, verdict=VerdictKind.STALE)
INVALID = replace(NONE, verdict=VerdictKind.INVALID)
PAIRS = [[(95.0 * w, 100.0) for w in (1.001, 0.999, 1.002, 0.998)]]


@pytest.mark.parametrize(
    ("screened", "against", "kind"),
    [
        (BY_BASELINE, EQUAL, VerdictKind.OK),
        (BY_BASELINE, DIFFERENT, VerdictKind.OK),
        (NONE, EQUAL, VerdictKind.OK),
        (STALE, EQUAL, VerdictKind.OK),
        (NONE, DIFFERENT, VerdictKind.REGRESSED),
        (STALE, DIFFERENT, VerdictKind.REGRESSED),
        (DIFFERENT, EQUAL, VerdictKind.BASELINE_DRIFT),
        (DIFFERENT, DIFFERENT, VerdictKind.REGRESSED),
        (INVALID, EQUAL, VerdictKind.INVALID),
        (INVALID, DIFFERENT, VerdictKind.INVALID),
        (NONE, MAYBE, VerdictKind.UNSTABLE),
        (DIFFERENT, MAYBE, VerdictKind.UNSTABLE),
        (BY_BASELINE, MAYBE, VerdictKind.OK),
    ],
)
def test_exact_metrics_by_baseline_and_reference(screened, against, kind):
    assert settle_exact(screened, against).verdict is kind


def test_a_difference_that_passes_is_named():
    line = settle_exact(BY_BASELINE, DIFFERENT).line()
    assert "2.600 on the reference" in line
    assert "accepted_tokens 160 -> 150" in line


def test_a_difference_says_what_it_is_measured_against():
    assert "against the reference" in settle_exact(NONE, DIFFERENT).line()
    assert "the reference is where this is" in settle_exact(DIFFERENT, EQUAL).line()


@pytest.mark.parametrize(
    "kind",
    [
        VerdictKind.UNBASELINED,
        VerdictKind.STALE,
        VerdictKind.UNDERPOWERED,
        VerdictKind.UNSTABLE,
        VerdictKind.IMPLAUSIBLE,
    ],
)
def test_where_the_baseline_decides_nothing_the_pairs_alone_judge(kind):
    screened = Verdict(CELL, "output_throughput", kind, 95.0, unit="tok/s")
    assert wants_pairs(screened)
    red = settle_timed(screened, PAIRS, 0.02, True, cause="step time +5.0 %")
    assert red.verdict is VerdictKind.REGRESSED
    assert (red.baseline, red.unit, red.counted) == (100.0, "tok/s", "pairs")
    assert settle_timed(screened, PAIRS, 0.10, True).verdict is VerdictKind.OK


@pytest.mark.parametrize("kind", [VerdictKind.OK, VerdictKind.INVALID])
def test_what_is_settled_needs_no_pairs(kind):
    assert not wants_pairs(Verdict(CELL, "speedup", kind, 1.0, 1.0, limit=0.1))


def test_exact_metrics_need_no_pairs():
    assert not wants_pairs(DIFFERENT)


reasons = st.sampled_from(["", "engine x: start-up: ValueError: no"])


@given(reasons, reasons)
def test_a_side_that_does_not_run_is_a_verdict(candidate, reference):
    verdict = one_sided(CELL, candidate, reference, "vllm 0.31.0")
    if not candidate and not reference:
        assert verdict is None
        return
    assert verdict is not None
    assert (verdict.verdict in ALWAYS_FAILING) == bool(candidate)
    assert "vllm 0.31.0" in verdict.line()
    assert all(reason in verdict.line() for reason in (candidate, reference))


@pytest.mark.parametrize(
    "silent", [VerdictKind.UNBASELINED, VerdictKind.UNDERPOWERED, VerdictKind.INVALID]
)
def test_a_reference_that_cannot_tell_clears_no_share(silent):
    red = Verdict(CELL, "draft_share", VerdictKind.REGRESSED, 0.4, 0.2, ratio=2.0, limit=0.3)
    found = settle_share(red, Verdict(CELL, "draft_share", silent, evidence="other stages"))
    assert found.verdict is VerdictKind.REGRESSED
    assert "the reference cannot tell: other stages" in found.line()
