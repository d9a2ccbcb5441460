"""Each emitted token carries the log-probability that standard decoding would report for it."""

from __future__ import annotations

import numpy as np
import pytest
from batches import batches, examples
from hypothesis import given
from hypothesis import strategies as st

from draftgate.lossless.batch import Batch
from draftgate.lossless.constraints import Setting, softmax
from draftgate.lossless.v1 import V1Sampler

TOP = 2
BATCHES = batches(temperatures=(0.0, 0.5, 1.0))


@given(batch=BATCHES, seed=st.integers(0, 2**31))
@examples(100)
def test_logprob_of_each_emitted_token(sampler: V1Sampler, batch: Batch, seed: int) -> None:
    """Raw ones: of the target's own logits, whatever temperature the request samples at."""
    outputs, logprobs = sampler.sample_with_logprobs(batch, seed, TOP)
    width = outputs.shape[1]
    ids, values = logprobs.logprob_token_ids.numpy(), logprobs.logprobs.numpy()
    with np.errstate(divide="ignore"):
        rows = np.log(softmax(batch.logits))
    for request, tokens in enumerate(outputs):
        first = int(batch.starts[request]) + request
        for i, token in enumerate(tokens[tokens >= 0]):
            flat, row = request * width + i, rows[first + i]
            assert ids[flat, 0] == token
            assert values[flat, 0] == pytest.approx(row[token], abs=1e-4)
            best = np.sort(row)[::-1][:TOP]
            np.testing.assert_allclose(values[flat, 1:], best, atol=1e-4)
            np.testing.assert_allclose(row[ids[flat, 1:]], best, atol=1e-4)  # each its own
            assert logprobs.selected_token_ranks[flat] == (row > row[token] + 1e-6).sum() + 1


@pytest.mark.parametrize("setting", [Setting(temperature=0.5), Setting(top_k=2)])
def test_asking_for_logprobs_changes_no_token(sampler: V1Sampler, setting: Setting) -> None:
    from draftgate.lossless.adversaries import random_chain
    from draftgate.lossless.trial import Trial

    rng = np.random.default_rng(0)
    batch = Trial([random_chain(rng, 6, 2, "independent", setting)], 50).draw(rng)
    plain = sampler.sample(batch, 1)
    np.testing.assert_array_equal(sampler.sample_with_logprobs(batch, 1, TOP)[0], plain)
