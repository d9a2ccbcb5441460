"""A request with a seed of its own gets the same tokens in any company, and the right law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from batches import batches, examples
from hypothesis import given
from hypothesis import strategies as st

from draftgate.lossless.adversaries import random_chain
from draftgate.lossless.batch import Batch, Sampling
from draftgate.lossless.samplers import Sampler
from draftgate.lossless.trial import Trial
from draftgate.lossless.views import step_view, text_view

SEEDS = st.integers(0, 2**31)


def seeded(batch: Batch, seeds: dict[int, int]) -> Batch:
    return replace(batch, sampling=replace(batch.sampling, seeds=seeds))


def alone(batch: Batch, request: int) -> Batch:
    """The batch of one request."""
    start, k = int(batch.starts[request]), int(batch.lengths[request])
    first = start + request
    return Batch(
        lengths=batch.lengths[[request]],
        drafts=batch.drafts[start : start + k],
        logits=batch.logits[first : first + k + 1],
        proposal=None if batch.proposal is None else batch.proposal[start : start + k],
        sampling=Sampling(
            batch.sampling.temperature[[request]], seeds={0: batch.sampling.seeds[request]}
        ),
    )


@given(batch=batches(temperatures=(1.0, 0.5)), seed=SEEDS, global_seeds=st.tuples(SEEDS, SEEDS))
@examples(80)
def test_seeded_request_does_not_depend_on_its_batch(
    sampler: Sampler, batch: Batch, seed: int, global_seeds: tuple[int, int]
) -> None:
    request = seed % len(batch.lengths)
    batch = seeded(batch, {request: seed})
    inside = sampler.sample(batch, global_seeds[0])[request]
    outside = sampler.sample(alone(batch, request), global_seeds[1])[0]
    np.testing.assert_array_equal(inside[: len(outside)], outside)
    assert (inside[len(outside) :] == -1).all()


def test_every_seed_may_give_another_text(
    sampler: Sampler, follows: Callable[..., None], affordable: Callable[[int], int]
) -> None:
    """Seeded steps follow the law, too, beside unseeded ones."""
    rng = np.random.default_rng(8)
    chains = [random_chain(rng, 3, 2, kind) for kind in ("reversed", "independent")]
    trial = Trial(chains, affordable(6_000))
    seeds = {request: 7919 * request + 1 for request in range(0, 2 * trial.requests, 2)}
    outputs = sampler.sample(seeded(trial.draw(rng), seeds), seed=3)
    for i, name in enumerate(["seeded", "unseeded"]):
        mine = trial.outputs_of(outputs, i)
        view = step_view(mine, chains[i], certain=False, verification=sampler.verification)
        follows(f"text, {name}", text_view(mine, chains[i], rng))
        follows(f"steps, {name}", view, "acceptance")


@given(batch=batches(), seed=SEEDS)
@examples(30)
def test_same_seed_same_step(sampler: Sampler, batch: Batch, seed: int) -> None:
    np.testing.assert_array_equal(sampler.sample(batch, seed), sampler.sample(batch, seed))
