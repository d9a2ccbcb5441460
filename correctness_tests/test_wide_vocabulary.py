"""Kernels take rows in blocks of 1024 or 8192 tokens: where a token lies must not matter.

The batches of the other modules, their few tokens scattered over three blocks; all others are
impossible, as they are to a request with top-k, so that whole blocks may be empty.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from batches import batches, examples
from expected import assert_accepted, assert_matched, assert_recovered
from hypothesis import given
from hypothesis import strategies as st
from stepwise import assert_as_standard, some_penalties, with_sampling

from draftgate.lossless.batch import Batch, IntArray, Sampling
from draftgate.lossless.samplers import Kernels, Sampler

VOCAB = 2 * 8192 + 5
EDGES = (0, 1023, 1024, 8191, 8192, 2 * 8192 - 1, 2 * 8192, VOCAB - 1)
SEEDS = st.integers(0, 2**32)


def scattered(batch: Batch, rng: np.random.Generator) -> Batch:
    """The batch with its tokens at other places of a wide vocabulary, edges of blocks too."""
    places = np.union1d(EDGES, rng.integers(0, VOCAB, batch.vocab))
    places = rng.permutation(places)[: batch.vocab]
    logits = np.full((len(batch.logits), VOCAB), -np.inf, np.float32)
    logits[:, places] = batch.logits
    proposal = None
    if batch.proposal is not None:
        proposal = np.zeros((len(batch.proposal), VOCAB), np.float32)
        proposal[:, places] = batch.proposal
    drafts = places[batch.drafts].astype(np.int32)
    sampling = _sampling(batch.sampling, places)
    return replace(batch, drafts=drafts, logits=logits, proposal=proposal, sampling=sampling)


def _sampling(sampling: Sampling, places: IntArray) -> Sampling:
    def moved(texts):
        return [places[np.array(text, int)].tolist() for text in texts]

    penalties = sampling.penalties
    return replace(
        sampling,
        outputs=None if sampling.outputs is None else moved(sampling.outputs),
        penalties=penalties and replace(penalties, prompts=moved(penalties.prompts)),
        bad_words={request: moved(words) for request, words in sampling.bad_words.items()},
    )


@given(batch=batches(temperatures=(1.0, 0.6)), seed=SEEDS)
@examples(100)
def test_accepted_drafts(sampler: Kernels, batch: Batch, seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert_accepted(sampler, scattered(batch, rng), rng)


@given(batch=batches(temperatures=(1.0, 0.6)), seed=SEEDS)
@examples(100)
def test_recovered_tokens(sampler: Kernels, batch: Batch, seed: int) -> None:
    rng = np.random.default_rng(seed)
    wide = scattered(batch, rng)
    noise = rng.exponential(size=(len(wide.lengths), wide.vocab))
    assert_recovered(sampler, wide, (1 / noise).astype(np.float32))


@given(batch=batches(temperatures=(0.0,)), seed=SEEDS)
@examples(100)
def test_greedy(sampler: Kernels, batch: Batch, seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert_matched(sampler, scattered(batch, rng), rng)


@given(batch=batches(temperatures=(0.0,)), seed=SEEDS)
@examples(60)
def test_text_so_far(sampler: Sampler, batch: Batch, seed: int) -> None:
    """Penalties count tokens of every block; bad words end in any."""
    rng = np.random.default_rng(seed)
    words = {0: [[last] for last in range(2, batch.vocab - 1)]}
    changed = with_sampling(batch, rng, bad_words=words, penalties=some_penalties(batch, rng))
    assert_as_standard(sampler, scattered(changed, rng), rng)
