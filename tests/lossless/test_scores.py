"""Scores read from vLLM's tensors are those of the distribution they came from."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from draftgate.engine.conversions import token_gaps, token_scores
from draftgate.lossless.constraints import Setting, constrain


def tensors(logits: np.ndarray, text: list[int]) -> SimpleNamespace:
    """What vLLM reports for the prompt ``text``: the actual token, then all by falling logprob."""
    logprobs = torch.log_softmax(torch.from_numpy(logits), dim=1)
    ranked, ids = logprobs.sort(dim=1, descending=True)
    actual = torch.tensor(text[1:])[:, None]
    return SimpleNamespace(
        logprob_token_ids=torch.cat([actual, ids], dim=1).int(),
        logprobs=torch.cat([logprobs.gather(1, actual), ranked], dim=1),
    )


@given(
    st.integers(0, 2**32), st.integers(2, 9), st.integers(1, 5), st.sampled_from([0.5, 1.0, 2.0])
)
@settings(max_examples=60, deadline=None)
def test_scores_are_sums_over_the_vocabulary(
    seed: int, length: int, start: int, temperature: float
) -> None:
    vocab, start = 7, min(start, length - 1)
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(length - 1, vocab)).astype(np.float32)
    text = rng.integers(0, vocab, length).tolist()
    scores = token_scores(tensors(logits, text), start, temperature)
    assert len(scores) == length - start
    p = constrain(logits, Setting(temperature=temperature))
    logprobs = np.log(constrain(logits, Setting()))
    for position, score in enumerate(scores, start=start):
        row, token = p[position - 1], text[position]
        assert score.mass == pytest.approx(row[token], abs=1e-6)
        assert score.below == pytest.approx(row[row > row[token]].sum(), abs=1e-6)
        assert score.below_id == pytest.approx(row[:token].sum(), abs=1e-6)
        raw = logprobs[position - 1]
        assert score.gap == pytest.approx(raw.max() - raw[token], abs=1e-5)
    narrow = tensors(logits, text)
    narrow.logprobs = narrow.logprobs[:, :2]  # as vLLM reports the likeliest alone
    assert [s.gap for s in token_gaps(narrow, start)] == pytest.approx(
        [s.gap for s in scores], abs=1e-5
    )


def test_equally_likely_tokens_share_no_interval() -> None:
    """A tie is broken by the order that vLLM reports: masses of all tokens tile [0, 1]."""
    rows = [
        token_scores(tensors(np.zeros((1, 4), np.float32), [0, x]), 1, 1.0)[0] for x in range(4)
    ]
    assert sorted(row.below for row in rows) == pytest.approx([0.0, 0.25, 0.5, 0.75])
    assert [row.below_id for row in rows] == pytest.approx([0.0, 0.25, 0.5, 0.75])
