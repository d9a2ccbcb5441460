"""What is counted of a trial's outputs, and the law that the counts must follow.

- `step_view`: the emitted tokens as they are. Their law depends on the algorithm and includes how
  many drafts are accepted.
- `text_view`: k + 1 tokens, a short step being continued by the target. Their law is the target's,
  whatever the algorithm: this is losslessness.
- `first_view`: the first token alone, for vocabularies too wide for joint counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from draftgate.lossless.batch import FloatArray, IntArray
from draftgate.lossless.chain import Chain
from draftgate.lossless.goodness import Goodness, goodness
from draftgate.lossless.law import Law, Verification, target_law
from draftgate.lossless.trial import draw_tokens


@dataclass(frozen=True, eq=False)
class View:
    """Counts [outcomes] and their law [outcomes]; batches of one chain add up."""

    counts: IntArray
    law: FloatArray

    def __add__(self, other: View) -> View:
        return View(self.counts + other.counts, self.law)

    def goodness(self) -> Goodness:
        """How well the counts follow the law."""
        return goodness(self.counts, self.law)


class InvalidOutput(AssertionError):
    """A sampler's output is no sequence of tokens: its id, length or padding is impossible."""


def step_view(
    outputs: IntArray, chain: Chain, *, certain: bool, verification: Verification = "standard"
) -> View:
    """Counts of the emitted sequences, padded to k + 1 with an extra symbol."""
    emitted = checked(outputs, chain)
    base = chain.vocab + 1
    law = np.zeros(base ** (chain.k + 1))
    laws = chain.output_law(certain=certain, verification=verification)
    for tokens, mass in laws.items():
        padded = np.array([*tokens, *[-1] * (chain.k + 1 - len(tokens))])
        law[_codes(padded[None] + 1, base)] += float(mass)
    return View(np.bincount(_codes(emitted + 1, base), minlength=len(law)), law)


def text_view(outputs: IntArray, chain: Chain, rng: np.random.Generator) -> View:
    """Counts of the emitted tokens continued by the target to k + 1 of them."""
    text = checked(outputs, chain).astype(np.int64)
    prefix: IntArray = np.zeros(len(text), np.int64)
    for position, table in enumerate(chain.target_tables()):
        missing = np.flatnonzero(text[:, position] < 0)
        text[missing, position] = draw_tokens(rng, table, prefix[missing])
        prefix = prefix * chain.vocab + text[:, position]
    law = _table(target_law(chain.target(), chain.k + 1), chain.vocab, chain.k + 1)
    return View(np.bincount(prefix, minlength=len(law)), law)


def first_view(outputs: IntArray, chain: Chain) -> View:
    """Counts of the first token."""
    first = checked(outputs, chain)[:, 0]
    return View(np.bincount(first, minlength=chain.vocab), chain.target_tables()[0][0])


def checked(outputs: IntArray, chain: Chain) -> IntArray:
    """``outputs`` cut to the chain's k + 1 columns.

    Raises InvalidOutput unless each row is one to k + 1 ids of the vocabulary, then padding.
    """
    width = chain.k + 1
    ids = outputs[:, :width]
    padding = ids == -1
    faults = (
        ((ids < -1) | (ids >= chain.vocab)).any(axis=1)
        | padding[:, 0]
        | (padding[:, :-1] & ~padding[:, 1:]).any(axis=1)
        | (outputs[:, width:] != -1).any(axis=1)
    )
    if faults.any():
        row = int(faults.argmax())
        raise InvalidOutput(
            f"{int(faults.sum())} of {len(outputs)} outputs are no token sequences for vocabulary "
            f"{chain.vocab} and k {chain.k}; the first is row {row}: {outputs[row].tolist()}"
        )
    return ids


def _codes(digits: IntArray, base: int) -> IntArray:
    """Each row's digits as one integer, the first digit the most significant."""
    weights = base ** np.arange(digits.shape[1])[::-1]
    codes: IntArray = digits.astype(np.int64) @ weights
    return codes


def _table(law: Law, vocab: int, length: int) -> FloatArray:
    table = np.zeros(vocab**length)
    for tokens, mass in law.items():
        table[_codes(np.array(tokens)[None], vocab)] = float(mass)
    return table
