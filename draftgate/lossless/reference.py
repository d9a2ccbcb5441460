"""What a sampler must do with given random numbers: the deterministic half of verification.

Plain Python over one request at a time, in float32 as the kernels compute.
"""

from __future__ import annotations

import math

import numpy as np

from draftgate.lossless.batch import Batch, FloatArray, IntArray
from draftgate.lossless.law import PLACEHOLDER, Tokens, Verification, drafted

_TELLING = 0.01  # a smaller denominator is mostly rounding


def thresholds(
    window: Tokens, p: FloatArray, q: FloatArray | None, verification: Verification = "standard"
) -> list[float]:
    """For each draft before the first placeholder, the number that its uniform must not exceed.

    ``p`` and ``q`` [k, vocab]; ``q`` None: 1 at the draft. Standard verification compares with
    p(x) / q(x), 0 where q(x) is 0; block verification as `law.block` says, and not a number where
    float32 cannot tell (a quotient of two rounding errors).
    """
    drafts = drafted(window)
    ratios = [_ratio(p, q, i, draft) for i, draft in enumerate(drafts)]
    if verification == "standard":
        return ratios
    passes = []
    for i, joint in enumerate(joint_ratios(window, p, q)[1:]):
        passes.append(joint)
        if i + 1 < len(drafts):
            mass = _residual_mass(joint * p[i + 1], q, i + 1, drafts[i + 1])
            passes[i] = mass / (mass + 1 - joint) if mass + 1 - joint > _TELLING else math.nan
    return passes


def joint_ratios(window: Tokens, p: FloatArray, q: FloatArray | None) -> list[float]:
    """Block verification's r of each prefix of the drafts, from the empty one: 1 first."""
    joints = [1.0]
    for i, draft in enumerate(drafted(window)):
        joints.append(min(1.0, joints[-1] * _ratio(p, q, i, draft)))
    return joints


def accepted_drafts(
    window: Tokens,
    p: FloatArray,
    q: FloatArray | None,
    uniforms: FloatArray,
    verification: Verification = "standard",
) -> int:
    """Number of drafts accepted, arguments as in `thresholds`.

    Standard: the first draft that fails ends it. Block: the last draft that passes ends it.
    """
    passed = [
        u <= t for u, t in zip(uniforms, thresholds(window, p, q, verification), strict=False)
    ]
    if verification == "block":
        return max((i + 1 for i, ok in enumerate(passed) if ok), default=0)
    return passed.index(False) if False in passed else len(passed)


def _ratio(p: FloatArray, q: FloatArray | None, i: int, draft: int) -> float:
    mass = 1.0 if q is None else float(q[i, draft])
    return float(p[i, draft]) / mass if mass > 0 else 0.0


def _residual_mass(scaled: FloatArray, q: FloatArray | None, i: int, draft: int) -> float:
    proposal = (np.arange(len(scaled)) == draft).astype(float) if q is None else q[i]
    return float(np.maximum(scaled - proposal, 0).sum())


def recovery_scores(
    p: FloatArray,
    q: FloatArray | None,
    draft: int,
    inverse_noise: FloatArray,
    joint: float = 1.0,
) -> FloatArray:
    """Where ``draft`` is rejected, the token with the largest score replaces it.

    (r p - q)+ times the inverse of exponential noise, all [vocab]; the largest of these is a draw
    from the normalised (r p - q)+. ``q`` None: all mass at the draft. ``joint``: the r of block
    verification.
    """
    weights = (joint * p).astype(np.float32)
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
