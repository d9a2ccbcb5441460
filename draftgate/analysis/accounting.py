"""Which drafting a step pays for, by proposer."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from draftgate.analysis.choices import Accounting
from draftgate.analysis.positions import Positions
from draftgate.analysis.traces import BoolArray
from draftgate.analysis.walk import Walk

COMBINED = ("ngram", "eagle3")
"""The two proposers of a combination; ties go to the first."""

TRAINING_FREE = frozenset({"ngram", "suffix"})
"""Training-free proposers: a lookup that finds nothing costs nothing worth counting."""


def charges(
    proposer: str, accounting: Accounting, positions: Positions, walk: Walk
) -> Mapping[str, BoolArray]:
    """The steps (S) that pay, by proposer."""
    every = walk.drafting
    if proposer != "combine":
        return {proposer: every & (walk.batched > 1) if proposer in TRAINING_FREE else every}
    first, second = COMBINED
    first_wins = positions.first_wins[walk.position]
    match accounting:
        case Accounting.PUBLISHED:
            return {first: every}
        case Accounting.WINNER:
            return {first: every & first_wins, second: every & ~first_wins}
        case Accounting.BOTH:
            return {first: every, second: every}


def switches(positions: Positions, walk: Walk) -> BoolArray:
    """The steps (S) of a combination that take another proposer than the request's step before."""
    wins = positions.first_wins[walk.position]
    request = positions.request[walk.position]
    changed = (wins[1:] != wins[:-1]) & (request[1:] == request[:-1])
    return np.concatenate([np.zeros(min(1, len(wins)), dtype=bool), changed])
