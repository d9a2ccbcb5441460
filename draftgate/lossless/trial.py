"""Many verification steps of several chains in one batch.

Neighbouring requests belong to different chains, with other distributions, window lengths and
settings, so that nothing about a request can be taken from its neighbour unnoticed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from draftgate.lossless.batch import Batch, FloatArray, IntArray, Sampling
from draftgate.lossless.chain import Chain


@dataclass(frozen=True, eq=False)
class Trial:
    """``requests`` steps of each chain, in turn. The chains share a vocabulary.

    ``certain``: the sampler is not told the proposal.
    """

    chains: Sequence[Chain]
    requests: int
    certain: bool = False

    def draw(self, rng: np.random.Generator) -> Batch:
        """A batch of freshly drafted windows."""
        requests, count = self.requests, len(self.chains)
        lengths = [chain.k for chain in self.chains]
        tokens, vocab = sum(lengths), self.chains[0].vocab
        # A group is one request of each chain; groups have the same layout.
        drafts = np.empty((requests, tokens), np.int32)
        logits = np.empty((requests, tokens + count, vocab), np.float32)
        proposal = None if self.certain else np.empty((requests, tokens, vocab), np.float32)
        first = 0
        for i, chain in enumerate(self.chains):
            prefix: IntArray = np.zeros(requests, np.int64)
            for position, table in enumerate(chain.proposal):
                token = draw_tokens(rng, table, prefix)
                drafts[:, first + position] = token
                logits[:, first + i + position] = chain.logits[position][prefix]
                if proposal is not None:
                    proposal[:, first + position] = table[prefix]
                prefix = prefix * vocab + token
            logits[:, first + i + chain.k] = chain.logits[chain.k][prefix]
            first += chain.k
        return Batch(
            lengths=np.tile(np.array(lengths, np.int32), requests),
            drafts=drafts.reshape(-1),
            logits=logits.reshape(-1, vocab),
            proposal=None if proposal is None else proposal.reshape(-1, vocab),
            sampling=self._sampling(),
        )

    def outputs_of(self, outputs: IntArray, chain: int) -> IntArray:
        """Rows of a sampler's ``outputs`` that belong to a chain [requests, longest + 1]."""
        return outputs[chain :: len(self.chains)]

    def _sampling(self) -> Sampling:
        settings, vocab = [chain.setting for chain in self.chains], self.chains[0].vocab
        temperatures = np.array([s.temperature for s in settings], np.float32)
        top_k = np.array([s.top_k or vocab for s in settings], np.int32)
        top_p = np.array([s.top_p for s in settings], np.float32)
        return Sampling(
            temperature=np.tile(temperatures, self.requests),
            top_k=np.tile(top_k, self.requests) if top_k.min() < vocab else None,
            top_p=np.tile(top_p, self.requests) if top_p.min() < 1 else None,
        )


def draw_tokens(rng: np.random.Generator, table: FloatArray, prefix: IntArray) -> IntArray:
    """A token from row ``prefix[i]`` of ``table`` for each i; never one of probability 0."""
    cumulative = np.cumsum(table, axis=1, dtype=np.float64)
    cumulative /= cumulative[:, -1:]
    uniforms = rng.random(len(prefix))
    if len(table) == 1:
        return np.searchsorted(cumulative[0], uniforms, side="right")
    drawn: IntArray = (uniforms[:, None] >= cumulative[prefix]).sum(axis=1)
    return drawn
