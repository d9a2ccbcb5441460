from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_examples import measurement, verdict

from draftgate.reporting.rows import SEVERITY, rows, worst
from draftgate.verdict.kinds import VerdictKind

KINDS = st.sampled_from(list(VerdictKind))


def test_a_row_has_the_numbers_of_its_cell():
    whole = measurement("a/ngram-k3/gsm8k/bs2")
    [row] = rows([whole], [])
    fast, slow = (r.generated_tokens / r.wall_s for r in whole.draftgate.rounds)
    assert row.output_throughput == (fast + slow) / 2
    assert row.speedup == pytest.approx(whole.draftgate.timed["speedup"][0])
    assert row.speedup_noise == pytest.approx(0.0)
    assert row.acceptance_length == whole.spec_decode_acceptance_length
    assert row.tokens_per_step == whole.draftgate.exact.tokens_per_step
    assert row.verdict is None


def test_noise_is_half_the_range_of_the_speedups():
    whole = measurement("a/ngram-k3/gsm8k/bs2")
    block = whole.draftgate.model_copy(update={"timed": {"speedup": (1.9, 2.0, 2.2)}})
    [row] = rows([whole.model_copy(update={"draftgate": block})], [])
    assert (row.speedup, row.speedup_noise) == (2.0, pytest.approx(0.075))


def test_numbers_that_do_not_exist_are_none():
    [row] = rows([measurement("a/ngram-k3/gsm8k/bs2", timed=False)], [])
    assert row.output_throughput is row.speedup is row.speedup_noise is None


def test_a_cell_that_could_not_be_measured_has_a_row():
    [row] = rows([], [verdict("a/none/gsm8k/bs2", VerdictKind.INVALID)])
    assert row.verdict is VerdictKind.INVALID
    assert row.output_throughput is row.tokens_per_step is None


@given(st.lists(KINDS, min_size=1))
def test_the_worst_verdict_stands_for_the_cell(kinds):
    verdicts = [verdict("a", kind) for kind in kinds]
    [row] = rows([], verdicts)
    assert SEVERITY.index(row.verdict) == min(map(SEVERITY.index, kinds))
    assert worst(verdicts).verdict is row.verdict


def test_nothing_is_worst_of_nothing():
    assert worst([]) is None


@given(st.lists(st.none() | KINDS, max_size=8))
def test_the_worst_cell_comes_first_and_equals_stay_in_order(kinds):
    cells = [f"cell{i}/none/gsm8k/bs2" for i in range(len(kinds))]
    found = rows(
        map(measurement, cells),
        [verdict(cell, kind) for cell, kind in zip(cells, kinds, strict=True) if kind],
    )
    expected = sorted(
        zip(cells, kinds, strict=True),
        key=lambda pair: SEVERITY.index(pair[1]) if pair[1] else len(SEVERITY),
    )
    assert [(row.cell, row.verdict) for row in found] == expected
