"""What training-free proposers offer at every position of a sequence: the replayer's interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from draftgate.analysis.traces import BoolArray, IntArray, TokenArray


@dataclass(frozen=True, eq=False)
class Proposals:
    """Drafts with j output tokens generated, j = 0 .. L - 1.

    ``tokens`` (L, cap): row j's first ``counts[j]`` are the drafts, the rest is arbitrary.
    """

    tokens: npt.NDArray[np.int32]
    counts: IntArray


class Proposer(Protocol):
    """A proposer that needs token ids only; may remember earlier requests."""

    def propose(self, prompt: TokenArray, output: TokenArray) -> Proposals:
        """Drafts at every position of ``output`` (L), each from the tokens before it alone."""
        ...


def emitted_lengths(proposals: Proposals, output: TokenArray) -> IntArray:
    """Tokens a step emits at each position (L): the drafts that agree with ``output``, and one.

    Drafts beyond the end of ``output`` count as rejected, as in the record.
    """
    cap = proposals.tokens.shape[1]
    padded = np.concatenate([output, np.zeros(cap, dtype=output.dtype)])
    ahead = np.lib.stride_tricks.sliding_window_view(padded, cap)[: len(output)]
    remaining = np.arange(len(output), 0, -1)
    usable = np.minimum(proposals.counts, remaining)
    agrees: BoolArray = (proposals.tokens == ahead) & (np.arange(cap) < usable[:, None])
    lengths: IntArray = 1 + np.logical_and.accumulate(agrees, axis=1).sum(axis=1, dtype=np.int64)
    return lengths
