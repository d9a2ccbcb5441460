"""Recordings of ranks, drawn."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from draftgate.analysis.draft_ranks import DraftRanks, RankedRequest

DEPTH, TOP = 4, 3


@st.composite
def recordings(draw: st.DrawFn) -> DraftRanks:
    """One to four requests of up to 12 tokens."""
    row = st.lists(st.integers(-1, TOP - 1), min_size=DEPTH, max_size=DEPTH)
    tables = draw(st.lists(st.lists(row, min_size=2, max_size=12), min_size=1, max_size=4))
    requests = (RankedRequest(f"r{i}", 5 + i, np.array(rows)) for i, rows in enumerate(tables))
    return DraftRanks("drawn", "eagle3", TOP, tuple(requests))


def plausible(requests: int = 40, tokens: int = 120, depth: int = 6, top: int = 8) -> DraftRanks:
    """A head that is right two times in three, and has the token among its next ranks often."""
    random = np.random.default_rng(7)
    chances = [0.66, 0.14, 0.06, 0.03, 0.02, 0.01, 0.01, 0.01]
    ranks = [*range(top), -1]
    made = []
    for number in range(requests):
        drawn = random.choice(ranks, size=(tokens, depth), p=[*chances, 1 - sum(chances)])
        drawn[0] = -1
        for step in range(1, depth):  # nothing behind the end of the output
            drawn[tokens - step :, step] = -1
        made.append(RankedRequest(f"r{number}", 200, drawn))
    return DraftRanks("plausible", "eagle3", top, tuple(made))
