"""Where a series of runs changed for good: binary segmentation with a permutation test.

Of all places to cut a series, the one that separates the means of its two sides best is a change
point where shuffled series hardly ever separate as well; then each side is searched on its own.
The test asks for no distribution, and taking the best of all cuts is part of it.

Apache Otava does the same with an energy distance and a t test. It is no dependency: it pins numpy
to 2.2 and brings clients of BigQuery, PostgreSQL and Slack, beside which vLLM cannot be installed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.float64]

BATCH = 500
"""Shuffles at a time: memory stays small, and a hopeless cut is given up early."""


@dataclass(frozen=True)
class ChangeRule:
    """``alpha``: of one cut. ``least_change``: relative; smaller ones are no news.

    ``least_runs``: on either side of a cut. ``shuffles``: 1 / shuffles must lie below alpha.
    """

    alpha: float = 0.001
    least_change: float = 0.01
    least_runs: int = 3
    shuffles: int = 4999
    seed: int = 42


@dataclass(frozen=True)
class ChangePoint:
    """``index``: of the first run after the change. ``before``, ``after``: geometric means."""

    index: int
    before: float
    after: float
    p: float

    @property
    def ratio(self) -> float:
        """After / before."""
        return self.after / self.before


def change_points(values: Sequence[float], rule: ChangeRule | None = None) -> list[ChangePoint]:
    """Changes of the level of ``values`` (positive, in the order of the runs), by index.

    Works in logs, so a change is a ratio. Deterministic. Raises ValueError on a value that is not
    positive and finite.
    """
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise ValueError("a series of a metric holds positive numbers only")
    rule = rule or ChangeRule()
    logs = np.log(np.asarray(values, dtype=np.float64))
    cuts = _search(logs, 0, rule)
    if not cuts:
        return []
    edges = [0, *(index for index, _ in cuts), len(logs)]
    levels = [float(np.exp(logs[a:b].mean())) for a, b in pairwise(edges)]
    return [
        ChangePoint(index, levels[i], levels[i + 1], p)
        for i, (index, p) in enumerate(cuts)
        if abs(levels[i + 1] / levels[i] - 1) >= rule.least_change
    ]


def _search(logs: Series, offset: int, rule: ChangeRule) -> list[tuple[int, float]]:
    """Cuts as (index in the whole series, p), ascending."""
    if len(logs) < 2 * rule.least_runs or np.ptp(logs) < 1e-12:
        return []
    separation = _separation(logs[np.newaxis], rule.least_runs)[0]
    cut = int(separation.argmax()) + rule.least_runs
    p = _p_value(logs, float(separation.max()), rule)
    if p >= rule.alpha:
        return []
    before, after = _search(logs[:cut], offset, rule), _search(logs[cut:], offset + cut, rule)
    return [*before, (offset + cut, p), *after]


def _separation(rows: Series, least: int) -> Series:
    """|mean left - mean right| of every allowed cut of every row, in units of its standard error.

    The error's common factor, the series' own deviation, is the same for every shuffle of it.
    """
    n = rows.shape[1]
    left = np.arange(least, n - least + 1)
    sums = rows.cumsum(axis=1)
    means = sums[:, left - 1] / left
    others = (sums[:, -1:] - sums[:, left - 1]) / (n - left)
    separation: Series = np.abs(means - others) * np.sqrt(left * (n - left) / n)
    return separation


def _p_value(logs: Series, observed: float, rule: ChangeRule) -> float:
    """Share of shuffles that separate as well; a bound above alpha once that is certain."""
    generator = np.random.default_rng(rule.seed)
    as_good = done = 0
    while done < rule.shuffles:
        count = min(BATCH, rule.shuffles - done)
        rows = generator.permuted(np.tile(logs, (count, 1)), axis=1)
        best = _separation(rows, rule.least_runs).max(axis=1)
        as_good += int((best >= observed - 1e-12).sum())
        done += count
        if (1 + as_good) / (1 + rule.shuffles) >= rule.alpha:
            break
    return (1 + as_good) / (1 + done)
