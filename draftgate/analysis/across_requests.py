"""Acceptance across requests, and whether it comes in bursts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from draftgate.analysis.steps import Steps


@dataclass(frozen=True)
class Spread:
    """Distribution of the requests' own tokens per step."""

    requests: int
    mean: float
    std: float
    minimum: float
    lower_quartile: float
    median: float
    upper_quartile: float
    maximum: float


@dataclass(frozen=True)
class Correlation:
    """Of a step's emitted tokens with those ``lag`` steps later, within requests.

    ``noise``: 95 % of the values that steps without any memory would show lie within it.
    """

    lag: int
    value: float
    noise: float
    pairs: int


def per_request(requests: Sequence[Steps]) -> dict[str, float]:
    """Tokens per step of each request that has a step, by id."""
    means = {steps.request_id: steps.tokens_per_step for steps in requests}
    return {name: mean for name, mean in means.items() if mean is not None}


def spread(requests: Sequence[Steps]) -> Spread | None:
    """None where no request has a step."""
    values = np.array(list(per_request(requests).values()))
    if not len(values):
        return None
    quantiles = np.percentile(values, (0, 25, 50, 75, 100)).tolist()
    return Spread(len(values), float(values.mean()), float(values.std()), *quantiles)


def autocorrelation(requests: Sequence[Steps], lag: int = 1) -> Correlation | None:
    """Pooled over requests, each around its own mean; None where nothing varies.

    A request's mean is estimated from its own few steps, which alone makes the value about
    -1 / steps; that is added back, by request.
    """
    products = squares = 0.0
    pairs = 0
    for steps in requests:
        if len(steps.emitted) > lag:
            centred = steps.emitted - steps.emitted.mean()
            own = float((centred**2).mean())
            products += float((centred[:-lag] * centred[lag:]).sum())
            products += own * (len(centred) - lag) / (len(centred) - 1) if lag else 0.0
            squares += own * (len(centred) - lag)
            pairs += len(centred) - lag
    if not squares:
        return None
    return Correlation(lag, products / squares, 1.96 / math.sqrt(pairs), pairs)


def burstiness(requests: Sequence[Steps], full: int) -> float | None:
    """How much longer runs of fully accepted steps are than in random order; 1 is no bursts.

    Runs expected if a request's steps were shuffled, over runs seen: with m of n steps full,
    m (n - m + 1) / n are expected (Wald and Wolfowitz). ``full``: tokens such a step emits, k + 1.
    None where no step is full.
    """
    expected = seen = 0.0
    for steps in requests:
        flags = steps.emitted >= full
        n, m = len(flags), int(flags.sum())
        if n:
            expected += m * (n - m + 1) / n
            seen += int((flags[1:] & ~flags[:-1]).sum()) + int(flags[0])
    return expected / seen if seen else None
