"""Standard decoding along the rows of a batch, one token at a time: what a window must come to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from batches import with_drafts
from hypothesis import assume

from draftgate.lossless.batch import Batch, Penalties
from draftgate.lossless.processors import processed_row
from draftgate.lossless.samplers import Sampler

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
