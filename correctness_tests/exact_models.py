"""Hypothesis strategies for models in exact arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st

from draftgate.lossless.law import PLACEHOLDER, Law, Tokens

# Small, large and no weight at all: likely tokens, unlikely ones and impossible ones.
WEIGHTS = st.sampled_from([0, 0, 1, 1, 2, 3, 5, 97])


@dataclass(frozen=True)
class Model:
    """A few distributions, one of which each prefix selects."""

    rows: tuple[tuple[Fraction, ...], ...]
    stride: int

    def __call__(self, prefix: Tokens) -> tuple[Fraction, ...]:
        code = sum((i + 1) * (token + 1) for i, token in enumerate(prefix))
        return self.rows[(self.stride * code) % len(self.rows)]


@dataclass(frozen=True)
class Case:
    """A target, a proposer, and at most ``k`` drafts; ``stops``: prefixes after which none come."""

    target: Model
    proposer: Model
    k: int
    stops: frozenset[int] = frozenset()

    def drafting(self, prefix: Tokens) -> tuple[Fraction, ...] | None:
        """The proposer, ragged: it stops where the prefix says so."""
        return None if sum(prefix) + len(prefix) in self.stops else self.proposer(prefix)


def distributions(vocab: int) -> st.SearchStrategy[tuple[Fraction, ...]]:
    weights = st.lists(WEIGHTS, min_size=vocab, max_size=vocab).filter(any)
    return weights.map(lambda row: tuple(Fraction(w, sum(row)) for w in row))


def models(vocab: int) -> st.SearchStrategy[Model]:
    rows = st.lists(distributions(vocab), min_size=1, max_size=4).map(tuple)
    return st.builds(Model, rows, st.integers(1, 3))


@st.composite
def cases(draw: st.DrawFn, max_vocab: int = 4, max_k: int = 3) -> Case:
    vocab = draw(st.integers(1, max_vocab))
    k = draw(st.integers(0, max_k if vocab < 4 else 2))
    stops = draw(st.frozensets(st.integers(0, 4), max_size=2))
    return Case(draw(models(vocab)), draw(models(vocab)), k, stops)


def blanked(windows: Law, blanks: frozenset[int]) -> Law:
    """The law of the windows with placeholders at the positions ``blanks``."""
    law: Law = {}
    for window, mass in windows.items():
        holed = tuple(PLACEHOLDER if i in blanks else x for i, x in enumerate(window))
        law[holed] = law.get(holed, 0) + mass
    return law
