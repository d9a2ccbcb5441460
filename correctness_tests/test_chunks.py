"""A batch whose logits are too many to verify at once is verified in chunks: nobody may notice.

The V2 runner takes as many requests as fit into some memory, then the next ones. Each keeps its own
drafts, proposal, parameters, seed and log-probabilities, wherever the cut is.
"""

from __future__ import annotations

import numpy as np
import pytest
from batches import batches, examples
from hypothesis import given
from hypothesis import strategies as st
from stepwise import assert_as_standard, some_penalties, with_sampling

from draftgate.lossless.batch import Batch
from draftgate.lossless.samplers import Chunking, Sampler
from draftgate.lossless.v2 import V2Sampler

SEEDS = st.integers(0, 2**31)
TOP = 2


@pytest.fixture(scope="module")
def whole(sampler: Sampler) -> V2Sampler:
    if not isinstance(sampler, Chunking):
        pytest.skip("this runner verifies a batch at once")
    assert isinstance(sampler, V2Sampler)
    return sampler


@given(
    batch=batches(temperatures=(0.0, 0.5, 1.0)),
    rows=st.integers(1, 9),
    seed=SEEDS,
    own=st.dictionaries(st.integers(0, 5), SEEDS),
)
@examples(200)
def test_text_and_logprobs_are_those_of_the_batch_at_once(
    whole: V2Sampler, batch: Batch, rows: int, seed: int, own: dict[int, int]
) -> None:
    """A chunk is of whole requests, one at least."""
    rng = np.random.default_rng(seed)
    seeds = {request: s for request, s in own.items() if request < len(batch.lengths)}
    words = {request: [[int(rng.integers(0, batch.vocab))]] for request in seeds}
    batch = with_sampling(
        batch, rng, seeds=seeds, bad_words=words, penalties=some_penalties(batch, rng)
    )
    expected, theirs = whole.sample_with_logprobs(batch, seed, TOP)
    emitted, logprobs = whole.in_chunks_of(rows).sample_with_logprobs(batch, seed, TOP)
    np.testing.assert_array_equal(emitted, expected)
    told = expected.reshape(-1) >= 0
    for name in ("logprob_token_ids", "logprobs", "selected_token_ranks"):
        found, wanted = (getattr(of, name).numpy()[told] for of in (logprobs, theirs))
        np.testing.assert_array_equal(found, wanted, err_msg=name)


@given(batch=batches(temperatures=(0.0,)), rows=st.integers(1, 9), seed=SEEDS)
@examples(150)
def test_each_request_of_a_chunk_has_its_own_text(
    whole: V2Sampler, batch: Batch, rows: int, seed: int
) -> None:
    """Penalties and bad words see its drafts, not those of the first chunk."""
    rng = np.random.default_rng(seed)
    words = {0: [[last] for last in range(2, batch.vocab - 1)]}
    changed = with_sampling(batch, rng, bad_words=words, penalties=some_penalties(batch, rng))
    assert_as_standard(whole.in_chunks_of(rows), changed, rng)
