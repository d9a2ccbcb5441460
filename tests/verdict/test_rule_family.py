"""Holm over the manifest's comparisons, never over a selection."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftgate.profile import load_profile
from draftgate.profile.model import Tolerances
from draftgate.verdict.family import holm, manifest_comparisons, rejected, rule_of

CELLS = [f"c{i}" for i in range(12)]

few = settings(max_examples=25)  # statsmodels collects garbage at every call

p_values = st.dictionaries(st.sampled_from(CELLS), st.floats(0, 1))


def test_the_manifest_counts_what_each_cell_has_of_the_judged_metrics() -> None:
    found = Counter(cell for cell, _metric in manifest_comparisons(load_profile("cpu")))
    assert found["llama-tiny/none/gsm8k/bs16"] == 4  # throughput, three shares
    assert found["llama-tiny/ngram-k3/gsm8k/bs16"] == 6  # speed-up and the share of drafts as well
    assert found["llama-tiny/none/gsm8k/bs1"] == 1  # not staged
    assert found["llama-tiny/ngram-k3/gsm8k/bs1"] == 2
    assert found["llama-tiny/ngram-k3/aime/bs16"] == 0  # not timed


@pytest.mark.parametrize("stated", [True, False])
def test_noisy_acceptance_counts_with_or_without_a_tolerance_of_its_own(stated: bool) -> None:
    profile = load_profile("h100-gate")
    if not stated:
        profile = profile.model_copy(update={"tolerances": Tolerances()})
    drafting = sum(1 for cell in profile.cells() if cell.scenario.variant.k)
    timed = len(manifest_comparisons(profile))
    assert rule_of(profile, repeats_tokens=False).family_size == timed + 2 * drafting
    assert rule_of(profile, repeats_tokens=True).family_size == timed


@pytest.mark.parametrize(
    ("p", "significant"), [(0.004, {"c0"}), (0.0042, set()), (0.05 / 12 - 1e-9, {"c0"})]
)
def test_one_small_p_is_judged_over_the_whole_manifest(p, significant):
    assert rejected({"c0": p}, CELLS, 0.05) == significant


def test_steps_down():
    assert rejected({"c0": 0.001, "c1": 0.0045}, CELLS, 0.05) == {"c0", "c1"}
    assert rejected({"c1": 0.0045}, CELLS, 0.05) == set()


def test_nothing_to_compare():
    assert holm({}, []) == {}
    assert holm({}, CELLS) == {}


@few
@given(p_values)
def test_holm_never_rejects_more_than_uncorrected_nor_less_than_bonferroni(found):
    significant = set(rejected(found, CELLS, 0.05))
    assert significant <= {cell for cell, p in found.items() if p < 0.05}
    assert significant >= {cell for cell, p in found.items() if p < 0.05 / len(CELLS) - 1e-12}


@few
@given(p_values, st.lists(st.sampled_from(CELLS), unique=True))
def test_a_selection_is_judged_as_strictly_as_the_whole(found, selection):
    selected = {cell: found[cell] for cell in selection if cell in found}
    whole = holm(found, CELLS)
    for cell, p in holm(selected, CELLS).items():
        assert p >= whole[cell] - 1e-12


@few
@given(p_values)
def test_more_comparisons_never_make_one_more_significant(found):
    before = holm(found, CELLS)
    more = holm(found, [*CELLS, "another"])
    assert all(more[cell] >= before[cell] - 1e-12 for cell in found)
