"""Steps in which a chosen draft is the first to be rejected: V2 draws one token a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from draftgate.lossless.batch import Batch, Sampling
from draftgate.lossless.constraints import softmax


class Rejection(NamedTuple):
    """A draft that is to be rejected."""

    request: int
    position: int


def reachable(batch: Batch) -> list[Rejection]:
    """The drafts that are verified if all before them are accepted."""
    rows = np.arange(len(batch.drafts)), np.maximum(batch.drafts, 0)
    likely = softmax(batch.logits[batch.target_rows])[rows]
    acceptable = (batch.drafts >= 0) & (likely > 0)
    return [
        Rejection(request, position)
        for request, (start, k) in enumerate(zip(batch.starts, batch.lengths, strict=True))
        for position in range(k)
        if acceptable[start : start + position].all()
    ]


def rejecting_steps(batch: Batch, rejections: Sequence[Rejection]) -> Batch:
    """A request for each of ``rejections``: its window up to that draft, with its own rows."""
    lengths = np.array([position + 1 for _, position in rejections], np.int32)
    tokens = np.concatenate([batch.starts[r] + np.arange(i + 1) for r, i in rejections])
    first_row = batch.starts + np.arange(len(batch.lengths))
    rows = np.concatenate([first_row[r] + np.arange(i + 2) for r, i in rejections])
    temperature = batch.sampling.temperature[[request for request, _ in rejections]]
    return Batch(
        lengths=lengths,
        drafts=batch.drafts[tokens],
        logits=batch.logits[rows],
        proposal=None if batch.proposal is None else batch.proposal[tokens],
        sampling=Sampling(temperature=temperature),
    )
