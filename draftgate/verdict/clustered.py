"""How sure is a difference of two ratios over the same prompts? The prompt is the unit.

The steps of one request accept alike, so that counting each step as a trial makes noise look small
by a factor. Both sides answer the same prompts, so that what is peculiar to a prompt cancels.
"""

from __future__ import annotations

import math

import numpy as np

from draftgate.measure.per_prompt import Ratios
from draftgate.verdict.noise import Difference

ROUNDING = 1e-9
"""Least standard error: equal counts leave none, and a test needs some."""


def clustered_difference(value: Ratios, baseline: Ratios) -> Difference:
    """log of the ratio of two ratio estimates (sum of numerators / sum of denominators).

    Linearised (delta method) by prompt, paired; t with prompts - 1 degrees of freedom. Prompts of
    one side only are left out. Raises ValueError on fewer than two common prompts, or where a sum
    is 0.
    """
    prompts = sorted(value.keys() & baseline.keys())
    if len(prompts) < 2:
        raise ValueError(f"{len(prompts)} common prompts make no comparison")
    sides = [np.array([side[p] for p in prompts], dtype=float) for side in (value, baseline)]
    if any((side.sum(axis=0) <= 0).any() for side in sides):
        raise ValueError("a ratio of nothing: a sum over all prompts is 0")
    moved, other = map(_log_ratio, sides)
    influence = _influence(sides[0]) - _influence(sides[1])
    dof = len(prompts) - 1
    variance = float(influence @ influence) * len(prompts) / dof
    return Difference(moved - other, max(math.sqrt(variance), ROUNDING), dof)


def _log_ratio(counts: np.ndarray) -> float:
    above, below = counts.sum(axis=0)
    return math.log(above / below)


def _influence(counts: np.ndarray) -> np.ndarray:
    """Of each prompt on the log ratio; sums to 0."""
    above, below = counts.sum(axis=0)
    found: np.ndarray = counts[:, 0] / above - counts[:, 1] / below
    return found
