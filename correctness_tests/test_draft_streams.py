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
from draftgate.lossless.batch import Batch
from draftgate.lossless.chain import Chain
from draftgate.lossless.constraints import PLAIN, Setting
from draftgate.lossless.samplers import Drawing, Sampler
from draftgate.lossless.trial import Trial
from draftgate.lossless.views import View, text_view

Follows = Callable[[str, View], None]
ROW = np.log(np.array([0.4, 0.3, 0.2, 0.1], np.float32))
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
