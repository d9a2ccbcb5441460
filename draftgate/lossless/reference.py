"""What a sampler must do with given random numbers: the deterministic half of verification.

Plain Python over one request at a time, in float32 as the kernels compute.
"""

from __future__ import annotations

import numpy as np

from draftgate.lossless.batch import Batch, FloatArray, IntArray
from draftgate.lossless.law import PLACEHOLDER, Tokens


def accepted_drafts(
    window: Tokens, p: FloatArray, q: FloatArray | None, uniforms: FloatArray
) -> int:
    """Number of drafts accepted: the first draft x with u > p(x) / q(x), or q(x) = 0, ends it.

    ``p`` and ``q`` [k, vocab]; ``q`` None: 1 at the draft. A placeholder is never accepted.
    """
    for i, draft in enumerate(window):
        if draft == PLACEHOLDER:
            return i
        mass = np.float32(1) if q is None else q[i, draft]
        if mass <= 0 or not np.float32(p[i, draft]) / mass >= uniforms[i]:
            return i
    return len(window)


def recovery_scores(
    p: FloatArray, q: FloatArray | None, draft: int, inverse_noise: FloatArray
) -> FloatArray:
    """Where ``draft`` is rejected, the token with the largest score replaces it.

    (p - q)+ times the inverse of exponential noise, all [vocab]; the largest of these is a draw
    from the normalised (p - q)+. ``q`` None: all mass at the draft.
    """
    weights = p.astype(np.float32)
    if q is not None:
        weights = np.maximum(weights - q, np.float32(0))
    elif draft != PLACEHOLDER:
        weights = np.where(np.arange(len(p)) == draft, np.float32(0), weights)
    scores: FloatArray = weights * inverse_noise
    return scores


def matching_output(window: Tokens, choices: Tokens, bonus: int) -> Tokens:
    """Greedy verification: the target's ``choices`` up to the first that is not the draft."""
    for i, (draft, choice) in enumerate(zip(window, choices, strict=True)):
        if draft != choice:
            return choices[: i + 1]
    return (*choices, bonus)


def emitted(window: Tokens, accepted: int, recovered: IntArray, bonus: int) -> Tokens:
    """The step's output where ``accepted`` drafts of the window were accepted."""
    last = bonus if accepted == len(window) else int(recovered[accepted])
    return (*window[:accepted], last)


def padded(outputs: list[Tokens], width: int) -> IntArray:
    """``outputs`` as rows of ``width``, padded with -1."""
    rows = np.full((len(outputs), width), -1, np.int32)
    for row, tokens in zip(rows, outputs, strict=True):
        row[: len(tokens)] = tokens
    return rows


def rows_of(batch: Batch, values: FloatArray) -> list[FloatArray]:
    """Per-draft ``values`` [tokens, ...] split by request."""
    return np.split(values, np.cumsum(batch.lengths)[:-1])
