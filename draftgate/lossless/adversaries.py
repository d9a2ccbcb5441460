"""Random chains whose proposer ranges from harmless to hostile."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from draftgate.lossless.batch import FloatArray
from draftgate.lossless.chain import Chain
from draftgate.lossless.constraints import PLAIN, Setting, normalised

# Makes a proposer's table from the target's.
Adversary = Callable[[np.random.Generator, FloatArray], FloatArray]


def random_chain(
    rng: np.random.Generator, vocab: int, k: int, adversary: str, setting: Setting = PLAIN
) -> Chain:
    """A chain whose proposer stands to its target as ``adversary`` (of `ADVERSARIES`) says."""
    targets = [_random_rows(rng, vocab**i, vocab) for i in range(k + 1)]
    proposal = tuple(ADVERSARIES[adversary](rng, p).astype(np.float32) for p in targets[:k])
    with np.errstate(divide="ignore"):
        logits = tuple(np.log(p).astype(np.float32) for p in targets)
    return Chain(vocab, logits, proposal, setting)


def _random_rows(rng: np.random.Generator, rows: int, vocab: int) -> FloatArray:
    """Rows from flat to spiked, some of them with impossible tokens."""
    p = rng.dirichlet(np.full(vocab, rng.choice([0.3, 1.0, 5.0])), size=rows) + 1e-5
    gaps = (rng.random((rows, vocab)) < 0.25) & (rng.random((rows, 1)) < 0.34)
    gaps[np.arange(rows), p.argmax(axis=1)] = False
    return normalised(np.where(gaps, 0.0, p))


def _independent(rng: np.random.Generator, p: FloatArray) -> FloatArray:
    return rng.dirichlet(np.ones(p.shape[1]), size=len(p))


def _reversed(_rng: np.random.Generator, p: FloatArray) -> FloatArray:
    """The target's least likely token is the proposer's favourite."""
    ranks = np.argsort(np.argsort(-p, axis=1), axis=1)
    swapped: FloatArray = np.take_along_axis(np.sort(p, axis=1), ranks, axis=1)
    return swapped


def _near(rng: np.random.Generator, p: FloatArray) -> FloatArray:
    return normalised(p * rng.uniform(0.95, 1.05, size=p.shape))


def _equal(_rng: np.random.Generator, p: FloatArray) -> FloatArray:
    return p


def _one_hot(rng: np.random.Generator, p: FloatArray) -> FloatArray:
    """Certain of one token, often one that the target would hardly choose."""
    return np.eye(p.shape[1])[rng.integers(0, p.shape[1], size=len(p))]


def _holes(rng: np.random.Generator, p: FloatArray) -> FloatArray:
    """Never drafts half of the tokens."""
    q = _independent(rng, p)
    q[:, rng.permutation(p.shape[1])[: p.shape[1] // 2]] = 0
    return normalised(q)


ADVERSARIES: Mapping[str, Adversary] = {
    "independent": _independent,
    "reversed": _reversed,
    "near": _near,
    "equal": _equal,
    "one-hot": _one_hot,
    "holes": _holes,
}
