"""Bounds on our own records: the order that theory demands, and the measured path itself."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_examples import cell

from draftgate.analysis.cost_models import H100_LLAMA31_8B
from draftgate.analysis.errors import CostModelError
from draftgate.analysis.recorded_bound import combined_bounds, recorded_bounds
from draftgate.analysis.simulate import Setup

SETUP = Setup(cost=H100_LLAMA31_8B, batch_sizes=(1, 4, 64))
ACCEPTS = st.lists(st.integers(0, 3), min_size=1, max_size=5).map(tuple)


def by_policy(records) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for record in records:
        found.setdefault(record.get("accounting") or record["policy"], []).append(record["speedup"])
    return found


@settings(deadline=None)
@given(ACCEPTS, ACCEPTS)
def test_the_oracle_is_no_slower_and_a_combination_costs_what_it_runs(one, other) -> None:
    ngram = cell("tiny/ngram-k3/gsm8k/bs1", accepts=one, rounds=1).draftgate
    eagle3 = cell("tiny/eagle3-k3/gsm8k/bs1", accepts=other, rounds=1).draftgate
    for block, proposer in ((ngram, "ngram"), (eagle3, "eagle3")):
        found = by_policy(recorded_bounds(block, proposer, SETUP))
        assert list(found) == ["fixed:3", "oracle"]
        assert all(o >= f for f, o in zip(*found.values(), strict=True))
    combined = by_policy(combined_bounds(ngram, eagle3, SETUP))
    assert list(combined) == ["published", "winner", "both"]
    for published, winner, both in zip(*combined.values(), strict=True):
        assert published >= winner >= both > 0


def test_a_full_acceptance_leaves_the_oracle_nothing() -> None:
    block = cell("tiny/eagle3-k3/gsm8k/bs1", accepts=(3,), rounds=1).draftgate
    found = by_policy(recorded_bounds(block, "eagle3", SETUP))
    assert found["oracle"][0] == pytest.approx(
        found["fixed:3"][0], rel=0.02
    )  # the last step is cut


def test_cells_of_other_prompts_cannot_be_combined() -> None:
    ngram = cell("tiny/ngram-k3/gsm8k/bs1", rounds=1).draftgate
    eagle3 = cell("tiny/eagle3-k3/code/bs1", rounds=1).draftgate
    assert combined_bounds(ngram, eagle3, SETUP) == []


def test_a_proposer_without_a_cost_is_named() -> None:
    block = cell("tiny/suffix-k3/gsm8k/bs1", rounds=1).draftgate
    with pytest.raises(CostModelError, match="suffix"):
        recorded_bounds(block, "suffix", SETUP)
