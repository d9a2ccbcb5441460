"""Trials and views tell right samplers from wrong ones, each view its own kind of wrong."""

import numpy as np
import pytest
from ideal_sampler import IdealSampler

from draftgate.lossless.adversaries import ADVERSARIES, random_chain
from draftgate.lossless.significance import ALPHA
from draftgate.lossless.trial import Trial
from draftgate.lossless.views import InvalidOutput, checked, first_view, step_view, text_view


def bounds(sampler, adversary="independent", requests=20_000, seed=0):
    """p bounds of the views: text, steps, first token."""
    rng = np.random.default_rng(seed)
    chain = random_chain(rng, 4, 2, adversary)
    trial = Trial([chain, chain], requests)
    outputs = trial.outputs_of(sampler.sample(trial.draw(rng), seed), 1)
    views = (
        text_view(outputs, chain, rng),
        step_view(outputs, chain, certain=False),
        first_view(outputs, chain),
    )
    return [view.goodness().p_bound for view in views]


@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_right_sampler_follows_every_law(adversary):
    assert min(bounds(IdealSampler(), adversary)) > 1e-3


@pytest.mark.parametrize(
    "fault",
    [
        IdealSampler(recovery=lambda p, q: p),
        IdealSampler(recovery=lambda p, q: np.roll(np.maximum(p - q, 0), 1, axis=1)),
        IdealSampler(luck=np.square),
        IdealSampler(luck=np.zeros_like),
        IdealSampler(luck=lambda u: 0.9 * u),
    ],
    ids=["p for residual", "rows shifted", "u squared", "always accept", "u 10 % too small"],
)
def test_biased_sampler_is_rejected_by_text_and_steps(fault):
    text, steps, _ = bounds(fault, requests=80_000)
    assert max(text, steps) < ALPHA


def test_lossless_but_slow_sampler_fails_only_the_law_of_steps():
    text, steps, first = bounds(IdealSampler(knows_proposal=False))
    assert min(text, first) > 1e-3
    assert steps < ALPHA


@pytest.mark.parametrize(
    "row", [[-1, -1], [3, -1], [-2, -1], [0, 3], [0, 0, 0]], ids=lambda row: str(row)
)
def test_impossible_output_is_no_outcome(row):
    chain = random_chain(np.random.default_rng(0), 3, 1, "near")
    good = [0, 1, *[-1] * (len(row) - 2)]
    with pytest.raises(InvalidOutput, match=r"1 of 2 outputs.*row 1"):
        checked(np.array([good, row]), chain)


def test_drafts_follow_the_proposal():
    rng = np.random.default_rng(1)
    chain = random_chain(rng, 5, 1, "holes")
    drafts = Trial([chain], 50_000).draw(rng).drafts
    counts = np.bincount(drafts, minlength=5)
    assert (counts[chain.proposal[0][0] == 0] == 0).all()
    np.testing.assert_allclose(counts / 50_000, chain.proposal[0][0], atol=0.01)


def test_neighbours_belong_to_other_chains():
    rng = np.random.default_rng(2)
    chains = [random_chain(rng, 3, k, "near") for k in (0, 2, 1)]
    batch = Trial(chains, 4).draw(rng)
    assert batch.lengths.tolist() == [0, 2, 1] * 4
    np.testing.assert_array_equal(batch.logits[::6], np.tile(chains[0].logits[0], (4, 1)))
