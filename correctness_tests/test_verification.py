"""With the random numbers given, every kernel does exactly what the reference does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from batches import batches, examples, single
from expected import assert_accepted, assert_matched, assert_recovered, expected_acceptance
from hypothesis import given
from hypothesis import strategies as st

from draftgate.lossless.batch import Batch, Sampling
from draftgate.lossless.samplers import Kernels
from draftgate.lossless.v1 import V1Sampler

SEEDS = st.integers(0, 2**32)


@given(batch=batches(temperatures=(1.0, 0.6)), seed=SEEDS)
@examples(200)
def test_accepted_drafts_are_those_the_uniforms_ask_for(
    sampler: Kernels, batch: Batch, seed: int
) -> None:
    assert_accepted(sampler, batch, np.random.default_rng(seed))


@pytest.mark.parametrize("luck", [0.45, 0.7], ids=["own-row-accepts", "own-row-rejects"])
@pytest.mark.parametrize("position", range(3))
def test_each_draft_is_judged_by_its_own_rows(sampler: Kernels, position: int, luck: float) -> None:
    """p / q is 1/2 in a draft's own rows, above 2 with another draft's q, below 2/5 with its p."""
    drafts = np.tile([0, 1, 2], 2)
    own = drafts[:, None] == np.arange(4)
    p = np.vstack([np.where(own, 0.3, 0.7 / 3), np.full((2, 4), 0.25)])
    batch = Batch(
        lengths=np.full(2, 3, np.int32),
        drafts=drafts.astype(np.int32),
        logits=np.log(p[[0, 1, 2, 6, 3, 4, 5, 7]]).astype(np.float32),
        proposal=np.where(own, 0.6, 0.4 / 3).astype(np.float32),
        sampling=Sampling(temperature=np.ones(2, np.float32)),
    )
    uniforms = np.full(6, 0.01)
    uniforms[[position, 3 + position]] = luck
    recovered, bonus = np.full(6, 3, np.int32), np.full(2, 3, np.int32)
    expected = expected_acceptance(sampler, batch, bonus, uniforms, recovered)
    np.testing.assert_array_equal(sampler.accept(batch, bonus, uniforms, recovered), expected)


@given(batch=batches(temperatures=(1.0, 0.6)), seed=SEEDS)
@examples(200)
def test_recovered_tokens_are_the_argmax_of_the_residual(
    sampler: Kernels, batch: Batch, seed: int
) -> None:
    noise = np.random.default_rng(seed).exponential(size=(len(batch.lengths), batch.vocab))
    assert_recovered(sampler, batch, (1 / noise).astype(np.float32))


def test_a_residual_is_weighed_by_the_prefix_before_it(sampler: Kernels) -> None:
    """Behind a draft of p / q = 1/2 block verification recovers token 2 (0.175 - 0.1 against
    0.3 - 0.28), standard verification token 1 (0.6 - 0.28 against 0.35 - 0.1)."""
    batch = single(
        [0, 0], [[0.3, 0.4, 0.3], [0.05, 0.6, 0.35]], [[0.6, 0.2, 0.2], [0.62, 0.28, 0.1]]
    )
    flat = np.ones((1, 3), np.float32)
    assert_recovered(sampler, batch, flat)
    expected = 2 if sampler.verification == "block" else 1
    assert sampler.recover(batch, flat)[1] == expected


@given(batch=batches(temperatures=(0.0,)), seed=SEEDS)
@examples(200)
def test_greedy_takes_the_argmax_up_to_the_first_difference(
    sampler: Kernels, batch: Batch, seed: int
) -> None:
    assert_matched(sampler, batch, np.random.default_rng(seed))


@pytest.mark.parametrize("certain", [False, True], ids=["with-q", "certain"])
def test_acceptance_share_is_exact_over_a_grid_of_uniforms(
    sampler: Kernels, affordable: Callable[[int], int], certain: bool
) -> None:
    """Stratified uniforms: the accepted share is p / q to within one grid point."""
    n, p, q = affordable(20_000), [0.15, 0.6, 0.25], [0.5, 0.3, 0.2]
    for draft, share in enumerate(p if certain else np.minimum(1, np.divide(p, q))):
        one = single([draft], [p], None if certain else [q])
        batch = Batch(
            lengths=np.ones(n, np.int32),
            drafts=np.tile(one.drafts, n),
            logits=np.tile(one.logits, (n, 1)),
            proposal=None if one.proposal is None else np.tile(one.proposal, (n, 1)),
            sampling=type(one.sampling)(np.ones(n, np.float32)),
        )
        grid = (np.arange(n) + 0.5) / n
        zeros = np.zeros(n, np.int32)
        accepted = (sampler.accept(batch, zeros, grid, zeros)[:, 1] == 0).sum()
        assert abs(accepted - share * n) <= 1


@pytest.mark.parametrize("certain", [False, True], ids=["with-q", "certain"])
def test_certain_and_impossible_drafts_need_no_luck(sampler: Kernels, certain: bool) -> None:
    target, bonus, recovered = [[0.0, 1.0]], np.array([0], np.int32), np.array([1], np.int32)
    largest = np.array([np.nextafter(1.0, 0.0)])
    smallest = np.array([2.0**-53])
    sure = single([1], target, None if certain else [[0.0, 1.0]])
    never = single([0], target, None if certain else [[1.0, 0.0]])
    assert sampler.accept(sure, bonus, largest, recovered).tolist() == [[1, 0]]
    assert sampler.accept(never, bonus, smallest, recovered).tolist() == [[1, -1]]


def test_draft_that_the_proposal_excludes_is_rejected(sampler: V1Sampler) -> None:
    """V1's choice: such a draft is never drawn, and the law says nothing about it. V2 accepts."""
    if not isinstance(sampler, V1Sampler):
        pytest.skip("the law leaves it open")
    batch = single([1], [[0.0, 1.0]], [[1.0, 0.0]])
    zero, smallest = np.array([0], np.int32), np.array([2.0**-53])
    assert sampler.accept(batch, zero, smallest, zero).tolist() == [[0, -1]]


@given(batch=batches(temperatures=(0.0, 1.0)), seed=SEEDS)
@examples(100)
def test_inputs_are_left_alone(sampler: Kernels, batch: Batch, seed: int) -> None:
    before = [
        None if array is None else array.copy()
        for array in (batch.lengths, batch.drafts, batch.logits, batch.proposal)
    ]
    sampler.sample(batch, seed)
    after = (batch.lengths, batch.drafts, batch.logits, batch.proposal)
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old, new)
