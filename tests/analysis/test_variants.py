"""Two variants side by side, overlap of prompt and output, and the profile for other tools."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from round_strategies import example_request, example_round, rounds_and_k

from draftgate.analysis.complementarity import difference, from_drafts, shared
from draftgate.analysis.overlap import (
    Bleu4,
    OverlapError,
    OverlapPoint,
    overlap_against_gain,
    rank_correlation,
)
from draftgate.analysis.speculation_profile import speculation_profile
from draftgate.analysis.steps import measured_steps
from draftgate.engine.records import RoundRecord
from draftgate.measure.record import Block, Machine, Measurement, Provenance, Subject


@given(rounds_and_k(min_k=1))
def test_a_variant_overlaps_fully_with_itself(drawn) -> None:
    found = measured_steps(drawn[0])
    [pair] = shared({"a": drawn[0], "b": drawn[0]})
    assert pair.first_only == pair.second_only == 0
    assert pair.both + pair.neither == sum(s.output_tokens for s in found)
    assert pair.overlap in (None, 1.0)
    gain = difference(found, found).gain
    assert ((gain == 0) | (gain != gain)).all()


def test_tokens_from_drafts_are_those_before_each_step_s_last() -> None:
    [steps, _] = measured_steps(example_round())  # emitted 1, 2, 1 and 2 of 3
    assert from_drafts(steps).tolist() == [False, True, False, False, True, True]


def test_only_equal_outputs_are_compared_token_by_token() -> None:
    """Equally long is not enough: behind a near-tie another text has other drafts."""
    request = example_request()
    parted = (*request.output_token_ids[:-1], request.output_token_ids[-1] + 1)
    for other in (
        example_request(output_token_ids=(1, 2), emitted=(1, 1)),
        example_request(output_token_ids=parted),
    ):
        [pair] = shared({"a": example_round(), "b": example_round(requests=[other])})
        assert (pair.requests, pair.overlap) == (0, None)


def test_difference_keeps_requests_of_both() -> None:
    first = measured_steps(example_round())
    assert difference(first, first[1:]).request_ids == ("p1",)
    assert difference(first, ()).gain.shape == (0, 20)


def test_bleu_is_full_for_a_copy_and_low_for_something_new() -> None:
    bleu4 = Bleu4()
    prompt = list(range(100))
    assert bleu4(prompt, prompt[20:60]) == pytest.approx(100.0)
    assert bleu4(prompt, list(range(500, 540))) < 5
    assert bleu4(prompt, prompt[:20] + list(range(500, 520))) < 60
    assert bleu4([], prompt) == bleu4(prompt, []) == 0.0


def test_overlap_meets_gain_request_by_request() -> None:
    ngram = example_round(requests=[example_request(prompt_token_ids=tuple(range(10)))])
    slow = example_round(
        requests=[example_request(emitted=(1,) * 6, drafted=(), accepted=())], counters=None
    )
    [point] = overlap_against_gain(ngram, slow)
    assert point.gain == pytest.approx(5 / 3)  # what was accepted behind EOS was not generated
    assert 0 < point.bleu4 <= 100
    assert overlap_against_gain(example_round(), slow) == ()  # no prompts known


def test_correlation_needs_something_that_varies() -> None:
    rising = [OverlapPoint(str(i), float(i), float(i**2)) for i in range(5)]
    assert rank_correlation(rising).rho == pytest.approx(1.0)
    assert rank_correlation(rising[:2]) is None
    assert rank_correlation([OverlapPoint("a", 1.0, float(i)) for i in range(5)]) is None


def test_a_missing_sacrebleu_is_told_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics", None)
    with pytest.raises(OverlapError, match=r"install draftgate\[report\]"):
        Bleu4()


def cell(record: RoundRecord, k: int) -> Block:
    measured = Measurement.build(
        Subject(
            cell="tiny/eagle3/gsm8k/bs1",
            scenario="tiny/eagle3",
            workload="gsm8k",
            workload_hash="ab" * 32,
            batch_size=1,
            k=k,
            model_id="tiny",
        ),
        [record],
        machine=Machine(key="box", isa_class="x"),
        provenance=Provenance(vllm="0.32.0", torch="2", draftgate="0", python="3"),
        started=datetime(2026, 7, 1, tzinfo=UTC),
        ended=datetime(2026, 7, 1, tzinfo=UTC),
    )
    return measured.draftgate


@settings(deadline=None)  # the first example imports scipy
@given(rounds_and_k(min_k=1))
def test_the_profile_satisfies_its_readers(drawn) -> None:
    record, k = drawn
    profile = speculation_profile([cell(record, k)], "eagle3", "head")
    if not record.counters.drafts:
        assert profile is None
        return
    rates = profile["marginal_accept_rates"]
    assert len(rates) == k == profile["num_speculative_tokens"]  # vLLM's synthetic method asks so
    assert all(1 >= a >= b >= 0 for a, b in pairwise(rates))
    product = 1.0
    for marginal, conditional in zip(rates, profile["conditional_accept_rates"], strict=True):
        product *= conditional
        assert product == pytest.approx(marginal, abs=1e-5)
    assert profile["validation"]["mean_consistency"]["passed"]
    assert profile["accept_length_by_k"][str(k)] == profile["mean_accept_length"]


def test_only_chains_tell_of_smaller_k() -> None:
    chain = speculation_profile([cell(example_round(), 3)], "eagle3", None)
    lookup = speculation_profile([cell(example_round(), 3)], "ngram", None)
    assert list(chain["accept_length_by_k"]) == ["1", "2", "3"]
    assert list(lookup["accept_length_by_k"]) == ["3"]
    assert chain["per_category"]["gsm8k"]["requests"] == 2
