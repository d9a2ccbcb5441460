"""Standard rejection sampling in numpy, with faults that can be switched on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from draftgate.lossless.batch import Batch
from draftgate.lossless.constraints import softmax

Recovery = Callable[[np.ndarray, np.ndarray], np.ndarray]


def residual(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return np.maximum(p - q, 0)


@dataclass(frozen=True)
class IdealSampler:
    """Windows must have one length. ``luck`` bends the uniforms, ``recovery`` the replacement."""

    recovery: Recovery = residual
    luck: Callable[[np.ndarray], np.ndarray] = lambda u: u
    knows_proposal: bool = True
    name: str = "ideal"

    def sample(self, batch: Batch, seed: int) -> np.ndarray:
        rng, k, vocab = np.random.default_rng(seed), int(batch.lengths[0]), batch.vocab
        p = softmax(batch.logits).reshape(-1, k + 1, vocab)
        drafts = batch.drafts.reshape(-1, k)
        q = np.eye(vocab)[drafts]
        if self.knows_proposal:
            q = batch.proposal.reshape(-1, k, vocab).astype(np.float64)
        outputs = np.full((len(drafts), k + 1), -1)
        alive = np.arange(len(drafts))
        for i in range(k):
            draft, here_p, here_q = drafts[alive, i], p[alive, i], q[alive, i]
            rows = np.arange(len(alive))
            uniforms = self.luck(rng.random(len(alive)))
            accepted = uniforms * here_q[rows, draft] <= here_p[rows, draft]
            outputs[alive, i] = np.where(accepted, draft, self._draw(rng, here_p, here_q))
            alive = alive[accepted]
        bonus = p[alive, k]
        outputs[alive, k] = (bonus / rng.exponential(size=bonus.shape)).argmax(axis=1)
        return outputs

    def _draw(self, rng: np.random.Generator, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        return (self.recovery(p, q) / rng.exponential(size=p.shape)).argmax(axis=1)
