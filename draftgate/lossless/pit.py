"""Sampled output held to the target's distribution: the randomised probability integral transform.

If token x was drawn from a distribution with cumulative function F (over any fixed order of the
vocabulary) and v is uniform, then u = F(x-) + v p(x) is uniform, whatever the distribution is. Each
token of a text gives one u from the target's own distribution at its prefix; they are independent,
since each is uniform given all that came before. That holds whatever the proposer drafted, so one
test of uniformity judges all tokens of a run, with thousands of different distributions.

Two orders are tested: by falling probability, which shows tokens that are too likely or too
unlikely as a wrong temperature or a wrong acceptance makes them, and by id, which shows the rest.
The text's length must not depend on its tokens (no end of sequence, a fixed number of tokens).

The statistic is the largest distance D between the distribution of the u and the uniform one. Its
p is bounded for every n by 2 exp(-2 n D^2) (Massart 1990, The Annals of Probability 18), doubled
for the two orders; no approximation is involved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from draftgate.engine.scores import TokenScore

FloatArray: TypeAlias = npt.NDArray[np.float64]
Order = Literal["probability", "id"]

ALPHA = 1e-6  # a run is refuted below this p: at most one correct run in a million
_ORDERS = 2


@dataclass(frozen=True)
class Calibration:
    """How uniform a run's transformed tokens are.

    ``displacement``: D of the worse order, in [0, 1]; ``at``: the u where it is taken; there the
    share of tokens below was ``observed`` instead of ``at``.
    """

    tokens: int
    p: float
    order: Order
    displacement: float
    at: float
    observed: float

    @property
    def accepted(self) -> bool:
        """Whether the run may have come from the target's distributions."""
        return self.p > ALPHA

    def __str__(self) -> str:
        return (
            f"{self.tokens} tokens, D {self.displacement:.4f} in order of {self.order}, "
            f"p <= {self.p:.2g}: {self.observed:.1%} of tokens lie in the first {self.at:.1%}; "
            f"a displacement of {detectable(self.tokens):.3f} would be found 99 times in 100"
        )


def calibrate(scores: Sequence[TokenScore], seed: int = 0) -> Calibration:
    """Judge the scores of sampled tokens; ``seed`` draws the transform's own uniforms.

    Raises:
        ValueError: no scores, or masses that are no probabilities.
    """
    mass, below, below_id = _columns(scores)
    luck = np.random.default_rng(seed).random(len(mass))
    found = [
        _distance(order, np.clip(start + luck * mass, 0.0, 1.0))
        for order, start in (("probability", below), ("id", below_id))
    ]
    return max(found, key=lambda calibration: calibration.displacement)


def detectable(tokens: int, alpha: float = ALPHA, power: float = 0.99) -> float:
    """Displacement that ``tokens`` find with ``power`` at ``alpha``.

    A sampler is displaced by d where the share of tokens below some u is off by d on average: at
    most the total variation from the target, averaged over prefixes. By the same inequality the
    observed distance is at least d - sqrt(ln(2 / (1 - power)) / 2n) with probability ``power``.
    """
    return math.sqrt(math.log(2 * _ORDERS / alpha) / (2 * tokens)) + math.sqrt(
        math.log(2 / (1 - power)) / (2 * tokens)
    )


def tokens_needed(displacement: float, alpha: float = ALPHA, power: float = 0.99) -> int:
    """Tokens from which a ``displacement`` is found; inverse of `detectable`."""
    return math.ceil((detectable(1, alpha, power) / displacement) ** 2)


def _columns(scores: Sequence[TokenScore]) -> tuple[FloatArray, FloatArray, FloatArray]:
    if not scores:
        raise ValueError("no token to judge")
    rows = np.array([(s.mass, s.below, s.below_id) for s in scores])
    if not (np.isfinite(rows).all() and (rows >= 0).all() and (rows <= 1 + 1e-6).all()):
        raise ValueError("scores that are no probabilities")
    mass, below, below_id = rows.T
    return mass, below, below_id


def _distance(order: str, u: FloatArray) -> Calibration:
    """Kolmogorov's D of ``u`` against the uniform distribution, and where it is."""
    ranked, n = np.sort(u), len(u)
    above, under = np.arange(1, n + 1) / n - ranked, ranked - np.arange(n) / n
    distance = np.maximum(above, under)
    worst = int(distance.argmax())
    observed = (worst + 1) / n if above[worst] >= under[worst] else worst / n
    d = float(distance[worst])
    return Calibration(
        tokens=n,
        p=min(1.0, 2 * _ORDERS * math.exp(-2 * n * d * d)),
        order="probability" if order == "probability" else "id",
        displacement=d,
        at=float(ranked[worst]),
        observed=observed,
    )
