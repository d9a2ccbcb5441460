"""Policies: how many tokens to draft, and their spelling on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from draftgate.analysis.errors import PolicyError
from draftgate.analysis.traces import BoolArray, FloatArray, IntArray

SPELLINGS = (
    "fixed:K, oracle, adaptive, threshold:RATE or threshold:RATE:K, dynamic:UPTO=K:UPTO=K..."
)


@dataclass(frozen=True)
class Fixed:
    """Always ``k`` tokens."""

    k: int

    def __str__(self) -> str:
        return f"fixed:{self.k}"


@dataclass(frozen=True)
class Oracle:
    """Exactly the tokens that will be accepted: the bound of every policy."""

    def __str__(self) -> str:
        return "oracle"


@dataclass(frozen=True)
class DynamicByBatch:
    """``k`` by the number of running requests.

    vLLM's `num_speculative_tokens_per_batch_size` with each range starting after the previous one:
    ``ranges`` holds (largest batch, k); beyond the last, its k stays. A k of 0 does not draft.
    """

    ranges: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        return "dynamic:" + ":".join(f"{upto}={k}" for upto, k in self.ranges)

    def k_at(self, batch_size: int) -> int:
        """Tokens drafted with ``batch_size`` requests running."""
        return next((k for upto, k in self.ranges if batch_size <= upto), self.ranges[-1][1])


@dataclass(frozen=True)
class Adaptive:
    """Per request: start at 5; 2 more after a fully accepted draft, 1 fewer after any other."""

    start: int = 5
    up: int = 2
    down: int = 1

    def __str__(self) -> str:
        return "adaptive"

    def initial(self, requests: int) -> FloatArray:
        """State of each request: its k."""
        return np.full(requests, float(self.start))

    def propose(self, state: FloatArray) -> IntArray:
        """Tokens to draft, by request."""
        return state.astype(np.int64)

    def update(self, state: FloatArray, drafted: IntArray, accepted: IntArray) -> FloatArray:
        """The state after a step that drafted; k never falls below 1."""
        full: BoolArray = accepted >= drafted
        return np.where(full, drafted + self.up, np.maximum(drafted - self.down, 1)).astype(float)


@dataclass(frozen=True)
class Threshold:
    """Per request: ``k`` tokens while the recent acceptance rate is at least ``rate``, else one.

    The rate is an exponential average of accepted / drafted (weight 0.2 for the newest step, start
    at 1). Traces carry no draft probabilities, so a confidence threshold cannot be simulated.
    """

    rate: float
    k: int = 5
    newest: float = 0.2

    def __str__(self) -> str:
        return f"threshold:{self.rate:g}:{self.k}"

    def initial(self, requests: int) -> FloatArray:
        """State of each request: its average acceptance rate."""
        return np.ones(requests)

    def propose(self, state: FloatArray) -> IntArray:
        """Tokens to draft, by request."""
        return np.where(state >= self.rate, self.k, 1)

    def update(self, state: FloatArray, drafted: IntArray, accepted: IntArray) -> FloatArray:
        """The state after a step that drafted."""
        return (1 - self.newest) * state + self.newest * accepted / drafted


Stateful = Adaptive | Threshold
Policy = Fixed | Oracle | DynamicByBatch | Stateful


def default_policies(cap: int) -> tuple[Policy, ...]:
    """The paper's, as far as a trace with this ``cap`` goes."""
    return (*(Fixed(k) for k in (1, 3, 5) if k <= cap), Oracle())


def parse_policy(text: str, cap: int) -> Policy:
    """The policy that ``text`` spells; its k must be within the trace's ``cap``.

    Raises PolicyError with the spellings.
    """
    kind, _, rest = text.partition(":")
    match kind, rest:
        case ("oracle", ""):
            return Oracle()
        case ("adaptive", ""):
            return Adaptive(start=min(Adaptive.start, cap))
        case ("fixed", _):
            return Fixed(_k(text, rest, cap))
        case ("threshold", _):
            rate, _, k = rest.partition(":")
            return Threshold(_rate(text, rate), _k(text, k, cap) if k else min(Threshold.k, cap))
        case ("dynamic", _):
            return DynamicByBatch(_ranges(text, rest, cap))
    raise PolicyError(f"unknown policy {text!r}; write {SPELLINGS}")


def _k(text: str, word: str, cap: int, least: int = 1) -> int:
    if not (_is_count(word) and least <= int(word) <= cap):
        raise PolicyError(
            f"policy {text!r}: k is {word!r}; it is a whole number from {least} to {cap}, "
            "the most tokens the trace recorded"
        )
    return int(word)


def _is_count(word: str) -> bool:
    """Whether ``word`` is a whole number of a sensible size."""
    return word.isascii() and word.isdecimal() and len(word) < 10


def _rate(text: str, word: str) -> float:
    try:
        rate = float(word)
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 1:
        raise PolicyError(f"policy {text!r}: the rate is {word!r}; it is a number from 0 to 1")
    return rate


def _ranges(text: str, words: str, cap: int) -> tuple[tuple[int, int], ...]:
    ranges = []
    for word in words.split(":"):
        upto, _, k = word.partition("=")
        if not _is_count(upto):
            raise PolicyError(f"policy {text!r}: {word!r} is not UPTO=K, such as dynamic:8=5:64=1")
        ranges.append((int(upto), _k(text, k, cap, least=0)))
    sizes = [0, *(upto for upto, _ in ranges)]
    if any(later <= earlier for earlier, later in pairwise(sizes)):
        raise PolicyError(f"policy {text!r}: batch sizes must rise, from 1 on")
    return tuple(ranges)
