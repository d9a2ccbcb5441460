"""Acceptance along a request's output: is the start easier to draft than the end?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from draftgate.analysis.clusters import Ratio, ratio
from draftgate.analysis.steps import Steps
from draftgate.analysis.traces import FloatArray, IntArray


@dataclass(frozen=True)
class Bin:
    """Tokens per step of the steps that start in [``low``, ``high``).

    Positions are output tokens, or shares of the output, by the function that made it.
    """

    low: float
    high: float
    tokens_per_step: Ratio


def by_relative_position(requests: Sequence[Steps], bins: int = 10) -> tuple[Bin, ...]:
    """Tokens per step by share of the output generated; bins without a step are left out."""
    placed = [_relative_bin(steps, bins) for steps in requests]
    return _curve(requests, placed, bins, 1 / bins)


def by_position(requests: Sequence[Steps], width: int = 32) -> tuple[Bin, ...]:
    """Tokens per step by number of output tokens generated, in bins of ``width`` tokens.

    Late bins hold the long requests only: compare them with the relative curve.
    """
    placed = [steps.position // width for steps in requests]
    bins = max((int(places.max()) + 1 for places in placed if len(places)), default=0)
    return _curve(requests, placed, bins, width)


def heat_map(requests: Sequence[Steps], bins: int = 20) -> FloatArray:
    """Tokens per step by request and relative position, (R, ``bins``); NaN without a step."""
    rows = [_sums(steps, _relative_bin(steps, bins), bins) for steps in requests]
    emitted, counts = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    means: FloatArray = np.divide(
        emitted, counts, out=np.full((len(rows), bins), np.nan), where=counts > 0
    )
    return means


def _relative_bin(steps: Steps, bins: int) -> IntArray:
    return np.minimum(steps.position * bins // max(steps.output_tokens, 1), bins - 1)


def _sums(steps: Steps, places: IntArray, bins: int) -> tuple[FloatArray, FloatArray]:
    """Tokens emitted and steps, by bin."""
    return (
        np.bincount(places, steps.emitted, bins).astype(float),
        np.bincount(places, minlength=bins).astype(float),
    )


def _curve(
    requests: Sequence[Steps], placed: Sequence[IntArray], bins: int, width: float
) -> tuple[Bin, ...]:
    if not requests or not bins:
        return ()
    rows = [_sums(steps, places, bins) for steps, places in zip(requests, placed, strict=True)]
    emitted, counts = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    found = (ratio(emitted[:, i], counts[:, i]) for i in range(bins))
    return tuple(Bin(i * width, (i + 1) * width, r) for i, r in enumerate(found) if r is not None)
