"""What depends on the text so far sees the accepted drafts as text.

Greedy decoding, so that each token is a function of the rows: penalties, bad words and allowed
tokens on a window are those of standard decoding, one token at a time. So is sampling with top-k 1,
which shows in what order a row is processed: penalties first, on the row as the target gave it,
then temperature, then top-k.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from batches import batches, examples
from hypothesis import assume, given
from hypothesis import strategies as st
from stepwise import assert_as_standard, some_penalties, with_sampling

from draftgate.lossless.batch import Batch
from draftgate.lossless.samplers import Sampler

GREEDY = batches(temperatures=(0.0,))
CERTAIN = batches(temperatures=(0.5, 2.0))  # with top-k 1


@given(batch=GREEDY, seed=st.integers(0, 2**31))
@examples(150)
def test_penalties(sampler: Sampler, batch: Batch, seed: int) -> None:
    rng = np.random.default_rng(seed)
    penalties = some_penalties(batch, rng)
    assert_as_standard(sampler, with_sampling(batch, rng, penalties=penalties), rng)


@given(batch=CERTAIN, seed=st.integers(0, 2**31))
@examples(150)
def test_penalties_come_before_temperature_and_top_k(
    sampler: Sampler, batch: Batch, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    penalties = some_penalties(batch, rng)
    top_1 = np.ones(len(batch.lengths), np.int32)
    changed = with_sampling(batch, rng, penalties=penalties, top_k=top_1)
    assert_as_standard(sampler, replace(changed, proposal=None), rng)


@given(batch=GREEDY, seed=st.integers(0, 2**31))
@examples(150)
def test_bad_words(sampler: Sampler, batch: Batch, seed: int) -> None:
    """At most one word ends in each token, so that something is left to emit."""
    rng = np.random.default_rng(seed)
    words = {
        request: [
            [*rng.integers(0, batch.vocab, rng.integers(0, 3)).tolist(), last]
            for last in range(batch.vocab - 2)
        ]
        for request in range(len(batch.lengths))
        if rng.random() < 0.7
    }
    assume(batch.vocab > 2)
    assert_as_standard(sampler, with_sampling(batch, rng, bad_words=words), rng)


@given(batch=GREEDY, seed=st.integers(0, 2**31))
@examples(150)
def test_allowed_tokens(sampler: Sampler, batch: Batch, seed: int) -> None:
    rng = np.random.default_rng(seed)
    allowed = rng.random((len(batch.lengths), batch.vocab)) < 0.5
    allowed[:, :2] = True
    assert_as_standard(sampler, with_sampling(batch, rng, allowed=allowed), rng)


@given(batch=GREEDY, seed=st.integers(0, 2**31))
@examples(100)
def test_all_of_them_together(sampler: Sampler, batch: Batch, seed: int) -> None:
    rng = np.random.default_rng(seed)
    allowed = rng.random((len(batch.lengths), batch.vocab)) < 0.7
    allowed[:, :2] = True
    words = {0: [[last] for last in range(2, batch.vocab - 1)]}
    changed = with_sampling(
        batch, rng, allowed=allowed, bad_words=words, penalties=some_penalties(batch, rng)
    )
    assert_as_standard(sampler, changed, rng)
