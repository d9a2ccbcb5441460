"""Sampled output held to the target's distribution: the randomised probability integral transform.

If token x was drawn from a distribution with cumulative function F (over any fixed order of the
vocabulary) and v is uniform, then u = F(x-) + v p(x) is uniform, whatever the distribution is. Each
token of a text gives one u from the target's own distribution at its prefix; they are independent,
since each is uniform given all that came before. That holds whatever the proposer drafted, so one
test of uniformity judges all tokens of a run, with thousands of different distributions.

Two orders are tested: by falling probability, which shows tokens that are too likely or too
unlikely as a wrong temperature or a wrong acceptance makes them, and by id, which shows the rest.
The text's length must not depend on its tokens (no end of sequence, a fixed number of tokens).

Tokens may each follow the law and not be independent: a uniform number used twice, say. So each
order is also tested in the sums u_t + u_(t+1) modulo 1 and in the differences: where the u are
independent and uniform, so are these (with the first u they map one to one onto the u, at constant
volume).

Where the target is all but certain, u is the uniform number drawn here whatever the sampler does.
Such tokens are left out: which they are is known from the prefix alone, so that the others stay
independent and uniform.

The statistic is the largest distance D between the distribution of the numbers and the uniform one.
Its p is bounded for every n by 2 exp(-2 n D^2) (Massart 1990, The Annals of Probability 18), times
the number of tests; no approximation is involved.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from draftgate.engine.scores import TokenScore

FloatArray: TypeAlias = npt.NDArray[np.float64]
Order = Literal["probability", "id"]
Kind = Literal["tokens", "sums", "differences"]

ALPHA = 1e-6  # a run is refuted below this p: at most one correct run in a million
CERTAIN = 0.95  # the likeliest token's probability from which a token is left out
_LARGEST_GAP = 700.0  # of what a float's exponential takes
_TESTS = 6  # two orders, three kinds


@dataclass(frozen=True)
class Calibration:
    """How uniform a run's transformed tokens are.

    ``tokens``: judged; ``certain``: left out, since the target had no choice.
    ``displacement``: D of the worst test, in [0, 1]; ``at``: the u where it is taken; there the
    share of tokens below was ``observed`` instead of ``at``. ``kind``: the tokens themselves, or
    sums or differences of successive ones.
    """

    tokens: int
    p: float
    order: Order
    kind: Kind
    displacement: float
    at: float
    observed: float
    certain: int = 0

    @property
    def accepted(self) -> bool:
        """Whether the run may have come from the target's distributions."""
        return self.p > ALPHA

    def __str__(self) -> str:
        what = self.kind if self.kind == "tokens" else f"{self.kind} of successive tokens"
        return (
            f"{self.tokens} tokens ({self.certain} certain ones apart), "
            f"D {self.displacement:.4f} in order of {self.order}, "
            f"p <= {self.p:.2g}: {self.observed:.1%} of {what} lie in the first {self.at:.1%}; "
            f"a displacement of {detectable(self.tokens):.3f} would be found 99 times in 100"
        )


def calibrate(
    scores: Sequence[TokenScore], seed: int = 0, *, temperature: float = 1.0
) -> Calibration:
    """Judge the scores of sampled tokens; ``seed`` draws the transform's own uniforms.

    ``temperature``: the scoring's, at which the tokens were sampled.

    Raises:
        ValueError: no scores, or masses that are no probabilities.
    """
    mass, below, below_id, certain = _columns(scores, temperature)
    if not certain.all():
        mass, below, below_id = mass[~certain], below[~certain], below_id[~certain]
    luck = np.random.default_rng(seed).random(len(mass))
    orders: tuple[tuple[Order, FloatArray], ...] = (("probability", below), ("id", below_id))
    found = [
        _distance(order, kind, values)
        for order, start in orders
        for kind, values in _kinds(np.clip(start + luck * mass, 0.0, 1.0))
    ]
    worst = min(found, key=lambda calibration: (calibration.p, -calibration.displacement))
    return replace(worst, certain=len(scores) - worst.tokens)


def detectable(tokens: int, alpha: float = ALPHA, power: float = 0.99) -> float:
    """Displacement that ``tokens`` find with ``power`` at ``alpha``.

    A sampler is displaced by d where the share of tokens below some u is off by d on average: at
    most the total variation from the target, averaged over prefixes. By the same inequality the
    observed distance is at least d - sqrt(ln(2 / (1 - power)) / 2n) with probability ``power``.
    """
    return math.sqrt(math.log(2 * _TESTS / alpha) / (2 * tokens)) + math.sqrt(
        math.log(2 / (1 - power)) / (2 * tokens)
    )


def tokens_needed(displacement: float, alpha: float = ALPHA, power: float = 0.99) -> int:
    """Tokens from which a ``displacement`` is found; inverse of `detectable`."""
    return math.ceil((detectable(1, alpha, power) / displacement) ** 2)


def _columns(
    scores: Sequence[TokenScore], temperature: float
) -> tuple[FloatArray, FloatArray, FloatArray, npt.NDArray[np.bool_]]:
    """Mass, mass below in either order, and whether the target was certain, a row a token."""
    if not scores:
        raise ValueError("no token to judge")
    rows = np.array([(s.mass, s.below, s.below_id) for s in scores])
    if not (np.isfinite(rows).all() and (rows >= 0).all() and (rows <= 1 + 1e-6).all()):
        raise ValueError("scores that are no probabilities")
    mass, below, below_id = rows.T
    likeliest = mass * np.exp([min(s.gap / temperature, _LARGEST_GAP) for s in scores])
    return mass, below, below_id, likeliest > CERTAIN


def _kinds(u: FloatArray) -> Iterator[tuple[Kind, FloatArray]]:
    yield "tokens", u
    if len(u) > 1:
        yield "sums", (u[:-1] + u[1:]) % 1.0
        yield "differences", (u[1:] - u[:-1]) % 1.0


def _distance(order: Order, kind: Kind, u: FloatArray) -> Calibration:
    """Kolmogorov's D of ``u`` against the uniform distribution, and where it is."""
    ranked, n = np.sort(u), len(u)
    above, under = np.arange(1, n + 1) / n - ranked, ranked - np.arange(n) / n
    distance = np.maximum(above, under)
    worst = int(distance.argmax())
    observed = (worst + 1) / n if above[worst] >= under[worst] else worst / n
    d = float(distance[worst])
    return Calibration(
        tokens=n if kind == "tokens" else n + 1,
        p=min(1.0, 2 * _TESTS * math.exp(-2 * n * d * d)),
        order=order,
        kind=kind,
        displacement=d,
        at=float(ranked[worst]),
        observed=observed,
    )
