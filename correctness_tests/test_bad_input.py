"""Broken rows: at least one token, ids inside the vocabulary, the neighbours untouched."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from batches import batches, examples
from hypothesis import given
from hypothesis import strategies as st

from draftgate.lossless.batch import Batch, Sampling, greedy_sampling, random_sampling
from draftgate.lossless.known_issues import known_issue
from draftgate.lossless.samplers import Repairable, Sampler

ROWS = {
    "nan": np.nan,
    "minus infinity": -np.inf,
    "plus infinity": np.inf,
    "huge": 3e38,
}
SEEDS = st.integers(0, 2**31)


def assert_sane(batch: Batch, outputs: np.ndarray) -> None:
    for k, row in zip(batch.lengths, outputs, strict=True):
        count = int((row != -1).sum())
        assert 1 <= count <= k + 1
        assert ((row[:count] >= 0) & (row[:count] < batch.vocab)).all()
        assert (row[count:] == -1).all()


@pytest.mark.parametrize("value", ROWS.values(), ids=ROWS)
@given(batch=batches(temperatures=(0.0, 1.0)), seed=SEEDS)
@examples(40)
def test_broken_logits_row(sampler: Sampler, value: float, batch: Batch, seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits = batch.logits.copy()
    logits[rng.integers(len(logits))] = value
    broken = replace(batch, logits=logits)
    assert_sane(broken, sampler.sample(broken, seed))


@pytest.mark.parametrize("value", ROWS.values(), ids=ROWS)
@given(batch=batches(temperatures=(1.0,)), seed=SEEDS)
@examples(40)
def test_neighbours_of_a_broken_request_are_untouched(
    sampler: Sampler, value: float, batch: Batch, seed: int
) -> None:
    logits = batch.logits.copy()
    logits[: batch.bonus_rows[0] + 1] = value
    sound = sampler.sample(batch, seed)
    outputs = sampler.sample(replace(batch, logits=logits), seed)
    np.testing.assert_array_equal(outputs[1:], sound[1:])


@pytest.mark.parametrize("value", [0.0, np.nan], ids=["zero", "nan"])
@given(batch=batches(), seed=SEEDS)
@examples(40)
def test_broken_proposal_row(sampler: Sampler, value: float, batch: Batch, seed: int) -> None:
    proposal = np.full((len(batch.drafts), batch.vocab), value, np.float32)
    broken = replace(batch, proposal=proposal)
    assert_sane(broken, sampler.sample(broken, seed))


def without_drafts(sampling: Sampling) -> Batch:
    """Three requests with a token each that is certain, 0 to 2: how every request begins."""
    return Batch(
        lengths=np.zeros(3, np.int32),
        drafts=np.zeros(0, np.int32),
        logits=np.eye(3, 5, dtype=np.float32) * 1e4,
        proposal=None,
        sampling=sampling,
    )


TOP_K = replace(random_sampling(3), top_k=np.full(3, 2, np.int32))


@pytest.mark.parametrize(
    "sampling", [greedy_sampling(3), random_sampling(3), TOP_K], ids=["greedy", "random", "top-k"]
)
def test_no_drafts_at_all(sampler: Sampler, sampling: Sampling) -> None:
    assert sampler.sample(without_drafts(sampling), 0).tolist() == [[0], [1], [2]]


@known_issue("L8")
def test_installed_sampler_has_top_k_where_there_are_no_drafts(sampler: Repairable) -> None:
    try:
        outputs = sampler.as_installed().sample(without_drafts(TOP_K), 0)
    except RuntimeError as error:
        raise AssertionError("no token, but an error") from error
    assert outputs.tolist() == [[0], [1], [2]]


@pytest.mark.parametrize("sampling", [greedy_sampling, random_sampling])
def test_vocabulary_of_one(sampler: Sampler, sampling: object) -> None:
    batch = Batch(
        lengths=np.array([2, 0], np.int32),
        drafts=np.zeros(2, np.int32),
        logits=np.zeros((4, 1), np.float32),
        proposal=np.ones((2, 1), np.float32),
        sampling=sampling(2),
    )
    assert sampler.sample(batch, 0).tolist() == [[0, 0, 0], [0, -1, -1]]


def long_window(k: int) -> Batch:
    return Batch(
        lengths=np.array([k], np.int32),
        drafts=np.zeros(k, np.int32),
        logits=np.zeros((k + 1, 4), np.float32),
        proposal=None,
        sampling=greedy_sampling(1),
    )


@pytest.mark.parametrize("k", [128, 129])
def test_long_windows_are_verified_to_the_end_or_refused(sampler: Sampler, k: int) -> None:
    limit = sampler.longest_window
    if limit is None or k <= limit:
        assert sampler.sample(long_window(k), 0).tolist() == [[0] * (k + 1)]
    else:
        with pytest.raises((AssertionError, ValueError)):
            sampler.sample(long_window(k), 0)


@pytest.mark.parametrize("draft", [-2, 5])
def test_draft_outside_the_vocabulary_is_refused_before_a_sampler_sees_it(draft: int) -> None:
    with pytest.raises(ValueError, match="ids below 5"):
        Batch(
            lengths=np.array([1], np.int32),
            drafts=np.array([draft], np.int32),
            logits=np.zeros((2, 5), np.float32),
            proposal=None,
            sampling=greedy_sampling(1),
        )


def test_empty_batch_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one request"):
        Batch(
            lengths=np.zeros(0, np.int32),
            drafts=np.zeros(0, np.int32),
            logits=np.zeros((0, 5), np.float32),
            proposal=None,
            sampling=greedy_sampling(0),
        )
