"""What depends on the text so far sees the accepted drafts as text.

Greedy decoding, so that each token is a function of the rows: penalties, bad words and allowed
tokens on a window are those of standard decoding, one token at a time. So is sampling with top-k 1,
which shows in what order a row is processed: penalties first, on the row as the target gave it,
then temperature, then top-k.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from batches import batches, examples, with_drafts
from hypothesis import assume, given
from hypothesis import strategies as st

from draftgate.lossless.batch import Batch, Penalties
from draftgate.lossless.processors import processed_row
from draftgate.lossless.samplers import Sampler

GREEDY = batches(temperatures=(0.0,))
CERTAIN = batches(temperatures=(0.5, 2.0))  # with top-k 1
GAP = 1e-3  # a smaller lead of the best token is decided by rounding


def decoded(batch: Batch, request: int) -> list[int]:
    """Tokens of standard decoding along the batch's rows."""
    first = int(batch.starts[request]) + request
    text = list(batch.sampling.outputs[request])
    for row in batch.logits[first : first + batch.lengths[request] + 1]:
        scores = processed_row(row, batch.sampling, request, text)
        second, best = np.sort(scores)[-2:]
        assume(best > second + GAP)
        text.append(int(scores.argmax()))
    return text[len(batch.sampling.outputs[request]) :]


def expected_rows(batch: Batch, rng: np.random.Generator) -> tuple[Batch, list[list[int]]]:
    """The batch with drafts that are right for a while, and what each request must emit."""
    drafts: list[int] = []
    emitted = []
    for request, k in enumerate(batch.lengths):
        text = decoded(batch, request)
        wrong = int(rng.integers(0, k + 1))
        window = text[:k]
        if wrong < k:
            window[wrong] = (text[wrong] + 1) % batch.vocab
        drafts += window
        emitted.append(text[: wrong + 1])
    return with_drafts(batch, np.array(drafts)), emitted


def assert_as_standard(sampler: Sampler, batch: Batch, rng: np.random.Generator) -> None:
    """Two passes: drafts change what follows them, so rows after a wrong draft do not matter."""
    drafted, emitted = expected_rows(batch, rng)
    for row, tokens in zip(sampler.sample(drafted, 0).tolist(), emitted, strict=True):
        assert [x for x in row if x >= 0] == tokens


def with_sampling(batch: Batch, rng: np.random.Generator, **changes: object) -> Batch:
    outputs = [rng.integers(0, batch.vocab, rng.integers(0, 5)).tolist() for _ in batch.lengths]
    scaled = rng.normal(scale=3, size=batch.logits.shape).astype(np.float32)
    sampling = replace(batch.sampling, outputs=outputs, **changes)
    return replace(batch, logits=scaled, sampling=sampling)


def some_penalties(batch: Batch, rng: np.random.Generator) -> Penalties:
    requests = len(batch.lengths)

    def each(values: list[float]) -> np.ndarray:
        return rng.choice(values, size=requests).astype(np.float32)

    prompts = [rng.integers(0, batch.vocab, rng.integers(1, 5)).tolist() for _ in range(requests)]
    return Penalties(each([1.0, 1.5]), each([0.0, 0.75]), each([0.0, -0.5, 1.25]), prompts)


@given(batch=GREEDY, seed=st.integers(0, 2**31))
@examples(150)
def test_penalties(sampler: Sampler, batch: Batch, seed: int) -> None:
    rng = np.random.default_rng(seed)
    penalties = some_penalties(batch, rng)
    assert_as_standard(sampler, with_sampling(batch, rng, penalties=penalties), rng)


@given(batch=CERTAIN, seed=st.integers(0, 2**31))
@examples(150)
def test_penalties_come_before_temperature_and_top_k(
    sampler: Sampler, batch: Batch, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    penalties = some_penalties(batch, rng)
    top_1 = np.ones(len(batch.lengths), np.int32)
    changed = with_sampling(batch, rng, penalties=penalties, top_k=top_1)
    assert_as_standard(sampler, replace(changed, proposal=None), rng)


@given(batch=GREEDY, seed=st.integers(0, 2**31))
@examples(150)
def test_bad_words(sampler: Sampler, batch: Batch, seed: int) -> None:
    """At most one word ends in each token, so that something is left to emit."""
    rng = np.random.default_rng(seed)
    words = {
        request: [
            [*rng.integers(0, batch.vocab, rng.integers(0, 3)).tolist(), last]
            for last in range(batch.vocab - 2)
        ]
        for request in range(len(batch.lengths))
        if rng.random() < 0.7
    }
    assume(batch.vocab > 2)
    assert_as_standard(sampler, with_sampling(batch, rng, bad_words=words), rng)


@given(batch=GREEDY, seed=st.integers(0, 2**31))
@examples(150)
def test_allowed_tokens(sampler: Sampler, batch: Batch, seed: int) -> None:
    rng = np.random.default_rng(seed)
    allowed = rng.random((len(batch.lengths), batch.vocab)) < 0.5
    allowed[:, :2] = True
    assert_as_standard(sampler, with_sampling(batch, rng, allowed=allowed), rng)


@given(batch=GREEDY, seed=st.integers(0, 2**31))
@examples(100)
def test_all_of_them_together(sampler: Sampler, batch: Batch, seed: int) -> None:
    rng = np.random.default_rng(seed)
    allowed = rng.random((len(batch.lengths), batch.vocab)) < 0.7
    allowed[:, :2] = True
    words = {0: [[last] for last in range(2, batch.vocab - 1)]}
    changed = with_sampling(
        batch, rng, allowed=allowed, bad_words=words, penalties=some_penalties(batch, rng)
    )
    assert_as_standard(sampler, changed, rng)
