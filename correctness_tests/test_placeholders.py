"""A placeholder (-1) in a window is never accepted, never emitted, and costs only speed.

Its proposal row is zero, as a slot has it that never held a draft: the token in its place is then
drawn from the target.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from batches import batches, examples, single, with_drafts
from hypothesis import Phase, assume, given
from hypothesis import strategies as st

from draftgate.lossless.adversaries import random_chain
from draftgate.lossless.batch import Batch, Sampling
from draftgate.lossless.known_issues import known_issue
from draftgate.lossless.law import drafted
from draftgate.lossless.samplers import Kernels, Sampler
from draftgate.lossless.trial import Trial
from draftgate.lossless.views import View, text_view

TOLD = pytest.mark.parametrize("certain", [False, True], ids=["with-q", "certain"])


def blank(batch: Batch, where: np.ndarray) -> Batch:
    """``batch`` with placeholders ``where`` [tokens], and zero proposal rows there."""
    proposal = None if batch.proposal is None else np.where(where[:, None], 0, batch.proposal)
    drafts = np.where(where, -1, batch.drafts)
    return replace(with_drafts(batch, drafts), proposal=proposal)


def blanked(batch: Batch, seed: int) -> Batch:
    """Random placeholders; not in the very first slot, before which there is no memory to read."""
    where = np.random.default_rng(seed).random(len(batch.drafts)) < 0.4
    where[:1] = False
    assume(where.any())
    return blank(batch, where)


@known_issue("L2")
def test_nothing_at_or_after_a_placeholder_is_accepted(sampler: Kernels) -> None:
    """Drafts [7, -1]; the target is certain of 7, then of 3. -1 read as an index finds the 7."""
    batch = single([7, -1], np.eye(8)[[7, 3]].tolist(), None)
    outputs = sampler.accept(
        batch, np.array([5], np.int32), np.array([0.5, 0.5]), np.array([0, 3], np.int32)
    )
    assert outputs.tolist() == [[7, 3, -1]]


@known_issue("L2")
@given(batch=batches(), seed=st.integers(0, 2**32))
@examples(100, phases=[Phase.generate])
def test_step_ends_at_its_first_placeholder(sampler: Sampler, batch: Batch, seed: int) -> None:
    batch = blanked(batch, seed)
    for window, row in zip(batch.windows(), sampler.sample(batch, seed).tolist(), strict=True):
        emitted = row.index(-1) if -1 in row else len(row)
        padding = set(row[emitted:]) <= {-1}
        assert padding and 1 <= emitted <= len(drafted(window)) + 1, (window, row)  # noqa: PT018


@given(batch=batches(temperatures=(0.0,)), seed=st.integers(0, 2**32))
@examples(100)
def test_greedy_step_ends_at_its_first_placeholder(
    sampler: Sampler, batch: Batch, seed: int
) -> None:
    batch = blanked(batch, seed)
    choices = np.split(batch.logits.argmax(axis=1), batch.bonus_rows[:-1] + 1)
    outputs = sampler.sample(batch, seed).tolist()
    for window, row, chain in zip(batch.windows(), outputs, choices, strict=True):
        agreed = next((i for i, x in enumerate(window) if x != chain[i]), len(window))
        assert row[: agreed + 1] == chain[: agreed + 1].tolist()
        assert set(row[agreed + 1 :]) <= {-1}


@known_issue("L2")
@TOLD
def test_text_follows_the_target_in_spite_of_placeholders(
    sampler: Sampler,
    follows: Callable[[str, View], None],
    affordable: Callable[[int], int],
    certain: bool,
) -> None:
    """Every third request lacks its second draft."""
    rng = np.random.default_rng(2)
    chain = random_chain(rng, 4, 2, "near")
    trial = Trial([chain], affordable(30_000), certain)
    where = np.zeros((trial.requests, 2), bool)
    where[::3, 1] = True
    outputs = sampler.sample(blank(trial.draw(rng), where.reshape(-1)), seed=4)
    follows("text with placeholders", text_view(outputs, chain, rng))


@known_issue("L12")
def test_a_drawn_draft_that_became_a_placeholder_is_recovered_from(
    sampler: Sampler, follows: Callable[[str, View], None]
) -> None:
    """As where a grammar forbids what was drawn, and the engine blanks it and keeps its proposal.

    It is rejected for certain (p is 0 there), and what takes its place is drawn from (p - q)+. From
    p, the first token would come 5 times of 8.
    """
    requests, p, q = 1500, np.array([0.5, 0.5, 0.0]), np.array([0.75, 0.0, 0.25])
    drafts = np.random.default_rng(7).choice(3, size=requests, p=q).astype(np.int32)
    drafts[0] = 0  # L2 reads what stands before a placeholder's row
    with np.errstate(divide="ignore"):
        rows = np.log(np.array([p, np.full(3, 1 / 3)])).astype(np.float32)
    batch = Batch(
        lengths=np.ones(requests, np.int32),
        drafts=np.where(drafts == 2, -1, drafts),
        logits=np.tile(rows, (requests, 1)),
        proposal=np.tile(q.astype(np.float32), (requests, 1)),
        sampling=Sampling(temperature=np.ones(requests, np.float32)),
    )
    first = sampler.sample(batch, seed=5)[:, 0]
    assert set(first) <= {0, 1}
    follows("forbidden", View(np.bincount(first, minlength=3)[:2], p[:2]))
