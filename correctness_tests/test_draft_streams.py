"""Drafts that the runner itself draws: its proposer's luck must not be its verifier's luck.

The V2 runner has no generator: every number is a hash of the request's seed and a position. Where
proposer and verifier meet at one position, their numbers must be independent all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from draftgate.lossless.adversaries import random_chain
from draftgate.lossless.batch import Batch, random_sampling
from draftgate.lossless.chain import Chain
from draftgate.lossless.constraints import PLAIN, Setting
from draftgate.lossless.known_issues import known_issue
from draftgate.lossless.samplers import Drawing, Sampler
from draftgate.lossless.trial import Trial
from draftgate.lossless.views import View, first_view, text_view

Follows = Callable[[str, View], None]
ROW = np.log(np.array([0.4, 0.3, 0.2, 0.1], np.float32))
FLAT = np.full(64, 1 / 64)
PAIRS = {
    "draft and target at one position": ((0, True), (0, False)),
    "draft and the target's next": ((0, True), (1, False)),
    "two drafts": ((0, True), (1, True)),
    "two targets": ((0, False), (1, False)),
}


@pytest.fixture
def drawing(sampler: Sampler) -> Drawing:
    if not isinstance(sampler, Drawing):
        pytest.skip("this runner's proposer draws from torch's generator")
    return sampler


def seeds_of(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.integers(0, 2**31, count)


@pytest.mark.parametrize("drafting", [True, False], ids=["draft", "target"])
@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_a_draw_follows_its_row(
    drawing: Drawing, follows: Follows, drafting: bool, temperature: float
) -> None:
    n = 600
    seeds = seeds_of(np.random.default_rng(1), n)
    temperatures = np.full(n, temperature, np.float32)
    rows = np.tile(ROW, (n, 1))
    law = np.exp(ROW.astype(float) / temperature)
    for offset in range(2):
        drawn = drawing.draw(rows.copy(), temperatures, seeds, offset, drafting=drafting)
        follows("one draw", View(np.bincount(drawn, minlength=4), law / law.sum()))


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_two_draws_of_one_seed_are_independent(
    drawing: Drawing, follows: Follows, pair: tuple[tuple[int, bool], tuple[int, bool]]
) -> None:
    n = 600
    seeds = seeds_of(np.random.default_rng(2), n)
    first, second = (
        drawing.draw(np.tile(ROW, (n, 1)), np.ones(n, np.float32), seeds, offset, drafting=drafting)
        for offset, drafting in pair
    )
    law = np.exp(ROW.astype(float))
    joint = np.outer(law, law).reshape(-1) / law.sum() ** 2
    follows("pair", View(np.bincount(4 * first + second, minlength=16), joint))


def test_a_draw_from_a_wide_row(drawing: Drawing, follows: Follows) -> None:
    """Kernels take a row in blocks of 8192 tokens: every block has its part, and every token."""
    n, vocab, bins = 600, 20_000, 16
    seeds = seeds_of(np.random.default_rng(3), n)
    drawn = drawing.draw(
        np.zeros((n, vocab), np.float32), np.ones(n, np.float32), seeds, 0, drafting=False
    )
    flat = np.full(bins, 1 / bins)
    follows("part of the row", View(np.bincount(drawn * bins // vocab, minlength=bins), flat))
    follows("place in a block", View(np.bincount(drawn % bins, minlength=bins), flat))


def test_acceptance_tests_use_uniform_numbers(drawing: Drawing, follows: Follows) -> None:
    """One by one, and with the number of the next position and of the next seed."""
    seeds, positions = np.divmod(np.arange(2**16), 2**8)
    numbers = drawing.uniforms(seeds, positions)
    assert ((numbers > 0) & (numbers < 1)).all()
    follows("numbers", View(np.bincount((numbers * 64).astype(int), minlength=64), FLAT))
    eighths = (numbers * 8).astype(int).reshape(2**8, 2**8)
    for name, pairs in {"positions": eighths, "seeds": eighths.T}.items():
        joint = 8 * pairs[:, ::2] + pairs[:, 1::2]
        follows(f"neighbouring {name}", View(np.bincount(joint.reshape(-1), minlength=64), FLAT))


@pytest.mark.parametrize("setting", [PLAIN, Setting(temperature=0.6)], ids=["plain", "cool"])
def test_text_follows_the_target_with_the_runners_own_drafts(
    sampler: Sampler,
    drawing: Drawing,
    follows: Follows,
    affordable: Callable[[int], int],
    setting: Setting,
) -> None:
    rng = np.random.default_rng(4)
    chain = random_chain(rng, 4, 2, "reversed", setting)
    batch = self_drafted(drawing, chain, affordable(100_000), rng)
    follows("text", text_view(sampler.sample(batch, 0), chain, rng))


def test_what_replaces_a_rejected_draft_knows_nothing_of_the_noise_that_drew_it(
    sampler: Sampler, drawing: Drawing, follows: Follows
) -> None:
    """A loser of the draft's draw is a likelier loser of the next one with the same noise: token 1
    would come 7 % too seldom. Few outcomes and many draws, so that this is seen."""
    rows = [np.array([[0.3, 0.6, 0.1]]), np.full((3, 3), 1 / 3)]
    chain = Chain(
        vocab=3,
        logits=tuple(np.log(row).astype(np.float32) for row in rows),
        proposal=(np.array([[0.01, 0.4, 0.59]], np.float32),),
        setting=PLAIN,
    )
    rng = np.random.default_rng(7)
    first = self_drafted(drawing, chain, 4000, rng)
    follows("first token", first_view(sampler.sample(first, 0), chain))


@known_issue("L10")
def test_a_step_reads_no_number_that_an_earlier_one_read(
    sampler: Sampler, drawing: Drawing, follows: Follows
) -> None:
    """What a rejection says about a number must say nothing about the next step's."""
    rows, n = np.log(np.array([0.6, 0.4], np.float32)), 1500
    seeds = seeds_of(np.random.default_rng(5), n)

    def step(chosen: np.ndarray) -> Batch:
        """Two drafts of token 0, which has a probability of 0.6 everywhere."""
        count = len(chosen)
        own = dict(enumerate(chosen.tolist()))
        return Batch(
            lengths=np.full(count, 2, np.int32),
            drafts=np.zeros(2 * count, np.int32),
            logits=np.tile(rows, (3 * count, 1)),
            proposal=None,
            sampling=replace(random_sampling(count), seeds=own),
        )

    rejected = drawing.sample_later(step(seeds), 0)[:, 0] == 1
    assert 400 < rejected.sum() < 800
    second = drawing.sample_later(step(seeds[rejected]), 1)[:, 0]
    follows(
        "the token after a rejection", View(np.bincount(second, minlength=2), np.array([0.6, 0.4]))
    )


def self_drafted(drawing: Drawing, chain: Chain, requests: int, rng: np.random.Generator) -> Batch:
    """A batch whose windows the runner drew, each request from the seed that verifies it."""
    seeds = seeds_of(rng, requests)
    temperature = np.full(requests, chain.setting.temperature, np.float32)
    prefix = np.zeros(requests, np.int64)
    window = []
    batch = Trial([chain], requests).draw(rng)
    logits = batch.logits.reshape(requests, chain.k + 1, chain.vocab).copy()
    proposal = np.empty((requests, chain.k, chain.vocab), np.float32)
    for offset, table in enumerate(chain.proposal):
        logits[:, offset] = chain.logits[offset][prefix]
        proposal[:, offset] = table[prefix]
        with np.errstate(divide="ignore"):
            stored = np.log(table[prefix]) * temperature[:, None]
        window.append(drawing.draw(stored, temperature, seeds, offset, drafting=True))
        prefix = prefix * chain.vocab + window[-1]
    logits[:, chain.k] = chain.logits[chain.k][prefix]
    return replace(
        batch,
        drafts=np.stack(window, axis=1).reshape(-1).astype(np.int32),
        logits=logits.reshape(-1, chain.vocab),
        proposal=proposal.reshape(-1, chain.vocab),
        sampling=replace(batch.sampling, seeds=dict(enumerate(seeds.tolist()))),
    )
