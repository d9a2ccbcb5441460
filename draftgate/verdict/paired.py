"""How sure is a difference of interleaved pairs? Log ratios, t, and the shift between starts.

What drifts slowly hits both sides of a pair alike and cancels in its ratio. What a process start
brings (memory layout, placement) does not: it is the same in all pairs of the same two processes,
so that many pairs of one start look surer than they are. Part of it is the order: who was started
first is slower, and the sides take turns at that. So neighbouring starts are joined, which rids
them of the order, and the rest of the shift is estimated over these, few as they are, together
with the noise model's, and never taken to be below that.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from draftgate.verdict.noise import Difference, NoiseModel, pooled, squares

Pair = tuple[float, float]
"""Candidate and reference, timed next to each other, both positive."""

PairedSessions = Sequence[Sequence[Pair]]
"""One inner sequence for each pair of process starts, a pair for each two neighbouring rounds."""


def paired_difference(sessions: PairedSessions, model: NoiseModel, engines: int = 2) -> Difference:
    """log(candidate / reference), mean over pairs, sessions weighted alike.

    Sessions are in the order of their starts, in which the sides take turns at being first.
    ``engines``: process starts behind a pair, each with its shift; a speed-up has its control's
    too. No empty session; at least two pairs in some session, or two sessions.
    """
    starts = [[math.log(value / other) for value, other in pairs] for pairs in sessions]
    within_dof = sum(map(len, starts)) - len(starts)
    pair_variance = math.fsum(map(squares, starts)) / within_dof if within_dof else 0.0
    joined = 2 if len(starts) % 2 == 0 else 1
    means = _means_of_neighbours([statistics.fmean(ratios) for ratios in starts], joined)
    noise = pair_variance * statistics.fmean(1 / len(ratios) for ratios in starts) / joined
    count = len(means)
    seen = max(0.0, squares(means) / (count - 1) - noise) if count > 1 else 0.0
    variance, dof = model.shift_between_starts(seen, count - 1, engines / joined)
    return Difference(
        statistics.fmean(means), *pooled([(variance / count, dof), (noise / count, within_dof)])
    )


def _means_of_neighbours(values: Sequence[float], size: int) -> list[float]:
    return [statistics.fmean(values[i : i + size]) for i in range(0, len(values), size)]
