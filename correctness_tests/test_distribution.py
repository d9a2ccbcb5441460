"""With its own random numbers, a sampler's outputs follow the law.

Two statements about the same draws: the steps follow the exact law of the sampler's verification,
which fixes how much is accepted; and the text, continued by the target, follows the target, which
is losslessness and says nothing about how much is accepted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from batches import examples
from hypothesis import given
from hypothesis import strategies as st

from draftgate.lossless.adversaries import ADVERSARIES, random_chain
from draftgate.lossless.constraints import PLAIN, Setting
from draftgate.lossless.goodness import draws_needed
from draftgate.lossless.samplers import Sampler
from draftgate.lossless.significance import ALPHA
from draftgate.lossless.trial import Trial
from draftgate.lossless.views import View, first_view, step_view, text_view

Follows = Callable[..., None]
Affordable = Callable[[int], int]
TOLD = pytest.mark.parametrize("certain", [False, True], ids=["with-q", "certain"])

SETTINGS = [
    PLAIN,
    Setting(temperature=0.0),
    Setting(temperature=0.6),
    Setting(temperature=1.7, top_p=0.8),
    Setting(top_k=2),
    Setting(temperature=0.8, top_k=3, top_p=0.9),
]


def assert_lossless(sampler: Sampler, follows: Follows, trial: Trial, seed: int) -> None:
    rng = np.random.default_rng(seed)
    outputs = sampler.sample(trial.draw(rng), seed)
    for i, chain in enumerate(trial.chains):
        mine = trial.outputs_of(outputs, i)
        name = f"chain {i} (k {chain.k}, {chain.setting}) of seed {seed}"
        follows(f"text of {name}", text_view(mine, chain, rng))
        steps = step_view(mine, chain, certain=trial.certain, verification=sampler.verification)
        follows(f"steps of {name}", steps, "acceptance")


@TOLD
@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_joint_law_against_each_adversary(
    sampler: Sampler, follows: Follows, affordable: Affordable, adversary: str, certain: bool
) -> None:
    rng = np.random.default_rng(len(adversary))
    chains = [random_chain(rng, 4, k, adversary) for k in (2, 1, 2)]
    assert_lossless(sampler, follows, Trial(chains, affordable(25_000), certain), seed=11)


@TOLD
def test_every_request_keeps_its_own_setting(
    sampler: Sampler, follows: Follows, affordable: Affordable, certain: bool
) -> None:
    rng = np.random.default_rng(5)
    chains = [
        random_chain(rng, 5, 1 + i % 2, "independent", setting)
        for i, setting in enumerate(SETTINGS)
    ]
    assert_lossless(sampler, follows, Trial(chains, affordable(20_000), certain), seed=12)


@given(
    seed=st.integers(0, 2**31),
    vocab=st.integers(1, 4),
    requests=st.lists(
        st.tuples(
            st.integers(0, 3), st.sampled_from(sorted(ADVERSARIES)), st.sampled_from(SETTINGS)
        ),
        min_size=1,
        max_size=5,
    ),
    certain=st.booleans(),
)
@examples(40)
def test_joint_law_of_ragged_mixed_batches(
    sampler: Sampler,
    follows: Follows,
    affordable: Affordable,
    seed: int,
    vocab: int,
    requests: list[tuple[int, str, Setting]],
    certain: bool,
) -> None:
    rng = np.random.default_rng(seed)
    chains = [random_chain(rng, vocab, *request) for request in requests]
    assert_lossless(sampler, follows, Trial(chains, affordable(4_000), certain), seed)


@TOLD
def test_first_token_to_half_a_percent(
    sampler: Sampler, follows: Follows, affordable: Affordable, certain: bool
) -> None:
    """Enough draws to reject a total variation of 0.5 % on 16 tokens in 99.5 of 100 runs, where the
    sampler can afford them."""
    rng = np.random.default_rng(3)
    chain = random_chain(rng, 16, 1, "independent")
    needed = draws_needed(0.005, ALPHA, freedom=15, power=0.995)
    trial, views = Trial([chain], affordable(50_000), certain), []
    for seed in range(-(-needed // 50_000)):
        views.append(first_view(sampler.sample(trial.draw(rng), seed), chain))
    total = View(np.sum([view.counts for view in views], axis=0), views[0].law)
    follows("first token", total)
