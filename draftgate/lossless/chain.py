"""A target and a proposer over a small vocabulary, as tables: what a trial samples from.

Distributions differ from prefix to prefix, so that a sampler that mixes up rows or positions is
seen. A prefix of i tokens is the integer whose digits in base `vocab` they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from draftgate.lossless.batch import FloatArray
from draftgate.lossless.constraints import PLAIN, Setting, constrain, normalised
from draftgate.lossless.law import (
    Law,
    Model,
    Tokens,
    Verification,
    block,
    greedy,
    output_law,
    standard,
    window_law,
)


@dataclass(frozen=True, eq=False)
class Chain:
    """Next-token tables of a target and a proposer, float32 as a sampler gets them."""

    vocab: int
    logits: tuple[FloatArray, ...]  # k + 1 tables [vocab^i, vocab] of the target, unconstrained
    proposal: tuple[FloatArray, ...]  # k tables [vocab^i, vocab], rows sum to 1
    setting: Setting = PLAIN

    @property
    def k(self) -> int:
        """Drafts in a window."""
        return len(self.proposal)

    def target_tables(self) -> list[FloatArray]:
        """Probabilities of the target under the chain's setting; one-hot where it is greedy."""
        tables = [constrain(table, self.setting) for table in self.logits]
        if self.setting.greedy:
            tables = [np.eye(self.vocab)[table.argmax(axis=1)] for table in self.logits]
        return tables

    def target(self) -> Model:
        """The target under the chain's setting, as a model of floats."""
        return partial(_look_up, self.target_tables(), self.vocab)

    def proposer(self) -> Model:
        """The proposer as a model of floats."""
        return partial(_look_up, [normalised(table) for table in self.proposal], self.vocab)

    def output_law(self, *, certain: bool, verification: Verification = "standard") -> Law:
        """Law of what one step emits.

        ``certain``: the sampler does not know the proposal and takes each draft as certain.
        """
        target, proposer = self.target(), self.proposer()
        method = block if verification == "block" else standard

        def verify(window: Tokens) -> Law:
            if self.setting.greedy:
                return greedy(window, target)
            return method(window, target, None if certain else proposer)

        return output_law(window_law(proposer, self.k), verify)


def _look_up(tables: list[FloatArray], vocab: int, prefix: Tokens) -> list[float]:
    index = 0
    for token in prefix:
        index = index * vocab + token
    row: list[float] = tables[len(prefix)][index].tolist()
    return row
