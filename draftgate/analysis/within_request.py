"""Acceptance along a request's output: is the start easier to draft than the end?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from draftgate.analysis.clusters import Ratio, ratio
from draftgate.analysis.steps import Steps
from draftgate.analysis.traces import FloatArray


@dataclass(frozen=True)
class Bin:
    """Tokens per step of the steps that start in [``low``, ``high``), shares of the output."""

    low: float
    high: float
    tokens_per_step: Ratio


def by_relative_position(requests: Sequence[Steps], bins: int = 10) -> tuple[Bin, ...]:
    """Tokens per step by share of the output generated; bins without a step are left out."""
    if not requests:
        return ()
    tokens, counts = _table(requests, bins)
    found = (ratio(tokens[:, i], counts[:, i]) for i in range(bins))
    return tuple(Bin(i / bins, (i + 1) / bins, r) for i, r in enumerate(found) if r is not None)


def heat_map(requests: Sequence[Steps], bins: int = 20) -> FloatArray:
    """Tokens per step by request and relative position, (R, ``bins``); NaN without a step."""
    tokens, counts = _table(requests, bins)
    means: FloatArray = np.divide(
        tokens, counts, out=np.full(tokens.shape, np.nan), where=counts > 0
    )
    return means


def _table(requests: Sequence[Steps], bins: int) -> tuple[FloatArray, FloatArray]:
    """Tokens returned and steps, each by request and relative position, (R, ``bins``)."""
    tokens, counts = np.zeros((2, len(requests), bins))
    for row, steps in enumerate(requests):
        places = np.minimum(steps.position * bins // max(steps.output_tokens, 1), bins - 1)
        tokens[row] = np.bincount(places, steps.returned, bins)
        counts[row] = np.bincount(places, minlength=bins)
    return tokens, counts
