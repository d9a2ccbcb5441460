"""Ranks that the testbed's heads give to recorded tokens."""

from __future__ import annotations

import pytest
import torch

from draftgate.testbed.draft_ranks import HEADS, Ranker, load_ranker
from draftgate.testbed.family import TestbedError
from draftgate.testbed.heads import unroll

PROMPT = [1, 55, 71, 307, 505, 726, 16, 879]
OUTPUT = [281, 305, 972, 519, 71, 83, 781, 225, 21, 24]
DEPTH, TOP = 3, 5


@pytest.fixture(scope="module", params=HEADS)
def ranker(request: pytest.FixtureRequest) -> Ranker:
    return load_ranker(request.param)


def test_there_is_a_row_a_token_and_none_for_the_prefill(ranker: Ranker) -> None:
    found = ranker.ranks(PROMPT, OUTPUT, DEPTH, TOP)
    assert [len(row) for row in found] == [DEPTH] * len(OUTPUT)
    assert found[0] == [-1] * DEPTH
    assert all(-1 <= rank < TOP for row in found for rank in row)
    assert ranker.ranks(PROMPT, OUTPUT[:1], DEPTH, TOP) == [[-1] * DEPTH]


def test_nothing_behind_the_end_is_a_hit(ranker: Ranker) -> None:
    found = ranker.ranks(PROMPT, OUTPUT, DEPTH, TOP)
    for step in range(1, DEPTH):
        assert all(row[step] == -1 for row in found[len(OUTPUT) - step :])


def test_a_rank_depends_on_no_later_token(ranker: Ranker) -> None:
    whole = ranker.ranks(PROMPT, OUTPUT, DEPTH, TOP)
    cut = ranker.ranks(PROMPT, OUTPUT[:6], DEPTH, TOP)
    for row, (mine, other) in enumerate(zip(cut, whole, strict=False)):
        for step in range(DEPTH):
            if row + step < 6:
                assert mine[step] == other[step]


@torch.no_grad()
def test_the_first_step_s_likeliest_token_has_rank_0(ranker: Ranker) -> None:
    ids = torch.tensor([PROMPT + OUTPUT[:3]])
    final, streams = ranker.target.model(ids, (2, 4, 6))
    embeddings = ranker.target.model.embed_tokens(ids[:, 1:])
    hidden = ranker.head.first(final, streams)[:, :-1]
    [state] = unroll(ranker.head, hidden, embeddings, 1)
    logits = ranker.head.logits(state[0, -1], ranker.target.lm_head)
    likeliest = int(ranker.vocabulary[logits.argmax()])
    assert ranker.ranks(PROMPT, [*OUTPUT[:3], likeliest], DEPTH, TOP)[3][0] == 0


def test_an_unknown_head_is_named() -> None:
    with pytest.raises(TestbedError, match="eagle, eagle3, not of 'medusa'"):
        load_ranker("medusa")
