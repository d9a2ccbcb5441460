"""A model may store its logits with 16 bits: a sampler computes with those numbers, in float32."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from batches import batches, examples
from hypothesis import given
from hypothesis import strategies as st

from draftgate.lossless.adversaries import random_chain
from draftgate.lossless.batch import Batch
from draftgate.lossless.constraints import PLAIN, Setting
from draftgate.lossless.stored import shortened
from draftgate.lossless.trial import Trial
from draftgate.lossless.v1 import V1Sampler

TOP = 2
SETTINGS = (PLAIN, Setting(temperature=0.6), Setting(temperature=1.7), Setting(temperature=0.0))


def assert_same_with_sixteen_bits(sampler: V1Sampler, batch: Batch, seed: int) -> None:
    ids, logprobs = sampler.sample_with_logprobs(shortened(batch), seed, TOP)
    short = replace(shortened(batch), stored="bfloat16")
    short_ids, short_logprobs = sampler.sample_with_logprobs(short, seed, TOP)
    np.testing.assert_array_equal(short_ids, ids)
    np.testing.assert_allclose(
        short_logprobs.logprobs.numpy(), logprobs.logprobs.numpy(), atol=1e-5
    )


@given(batch=batches(temperatures=(0.0, 0.6, 1.0)), seed=st.integers(0, 2**31))
@examples(60)
def test_any_batch(sampler: V1Sampler, batch: Batch, seed: int) -> None:
    assert_same_with_sixteen_bits(sampler, batch, seed)


def test_every_setting(sampler: V1Sampler, affordable: Callable[[int], int]) -> None:
    """Many requests: what a rounded logit changes is one token in a hundred."""
    rng = np.random.default_rng(6)
    chains = [random_chain(rng, 16, 2, "independent", setting) for setting in SETTINGS]
    batch = Trial(chains, affordable(2_000)).draw(rng)
    assert_same_with_sixteen_bits(sampler, batch, seed=6)
