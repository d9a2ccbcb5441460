"""Ratios of sums over requests, with their noise.

Steps of one request resemble each other, so the unit of noise is the request: the linearised
variance of a ratio estimator with requests as clusters (Cochran, Sampling Techniques, 6.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from draftgate.analysis.traces import FloatArray, IntArray

Amounts = FloatArray | IntArray


@dataclass(frozen=True)
class Ratio:
    """``half_width``: of the 95 % confidence interval; None with fewer than two requests."""

    value: float
    half_width: float | None
    requests: int
    count: int


def ratio(numerators: Amounts, denominators: Amounts) -> Ratio | None:
    """Sum of numerators over sum of denominators, one of each a request (R); None of nothing."""
    kept = denominators > 0
    above, below = numerators[kept].astype(float), denominators[kept].astype(float)
    if not len(below):
        return None
    value = float(above.sum() / below.sum())
    return Ratio(value, _half_width(above - value * below, below), len(below), int(below.sum()))


def _half_width(residuals: FloatArray, below: FloatArray) -> float | None:
    from scipy.special import stdtrit  # scipy.stats takes a second to import

    n = len(below)
    if n < 2:
        return None
    variance = n / (n - 1) * float((residuals**2).sum()) / float(below.sum()) ** 2
    return float(stdtrit(n - 1, 0.975)) * math.sqrt(variance)
