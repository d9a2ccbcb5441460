"""How sure is a difference of interleaved pairs? Log ratios, t, and the shift between starts.

What drifts slowly hits both sides of a pair alike and cancels in its ratio. What a process start
brings (memory layout, placement) does not: it is the same in all pairs of the same two processes,
so that many pairs of one start look surer than they are. The shift is estimated over starts, few as
they are, together with the noise model's, and is never taken to be below that.
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

    ``engines``: process starts behind a pair, each with its shift; a speed-up has its control's
    too. No empty session; at least two pairs in some session, or two sessions.
    """
    logs = [[math.log(value / other) for value, other in pairs] for pairs in sessions]
    means = [statistics.fmean(ratios) for ratios in logs]
    count, within_dof = len(logs), sum(map(len, logs)) - len(logs)
    pair_variance = math.fsum(map(squares, logs)) / within_dof if within_dof else 0.0
    noise = pair_variance * statistics.fmean(1 / len(ratios) for ratios in logs)
    seen = max(0.0, squares(means) / (count - 1) - noise) if count > 1 else 0.0
    variance, dof = model.shift_between_starts(seen, count - 1, engines)
    return Difference(
        statistics.fmean(means), *pooled([(variance / count, dof), (noise / count, within_dof)])
    )
