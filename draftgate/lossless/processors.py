"""What penalties, bad words and allowed tokens make of a row of logits: the float64 reference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from draftgate.lossless.batch import FloatArray, Sampling


def processed_row(
    logits: FloatArray, sampling: Sampling, request: int, emitted: Sequence[int]
) -> FloatArray:
    """``logits`` [vocab] as a request samples from them after ``emitted`` (all its output so far).

    Allowed tokens, bad words and penalties do not depend on each other's order: what is -inf stays.
    """
    row = logits.astype(np.float64)
    if sampling.allowed is not None:
        row = np.where(sampling.allowed[request], row, -np.inf)
    for word in sampling.bad_words.get(request, ()):
        prefix = list(word[:-1])
        if list(emitted[len(emitted) - len(prefix) :]) == prefix:
            row[word[-1]] = -np.inf
    return _penalised(row, sampling, request, emitted)


def _penalised(
    row: FloatArray, sampling: Sampling, request: int, emitted: Sequence[int]
) -> FloatArray:
    penalties = sampling.penalties
    if penalties is None:
        return row
    counts = np.bincount(np.array(emitted, int), minlength=len(row))
    seen = counts + np.bincount(np.array(penalties.prompts[request], int), minlength=len(row)) > 0
    factor = float(penalties.repetition[request])
    repeated = np.where(row > 0, row / factor, row * factor)
    penalised: FloatArray = (
        np.where(seen, repeated, row)
        - float(penalties.frequency[request]) * counts
        - float(penalties.presence[request]) * (counts > 0)
    )
    return penalised
