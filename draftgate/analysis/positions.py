"""All decode positions of a trace in flat arrays, for one proposer or the better of two.

A position is a request with ``s + 1`` tokens generated, ``s = 0 .. length - 2``: where a step can
start. (The prefill yields the first token; the last token starts no step.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from draftgate.analysis.traces import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class Positions:
    """``N`` positions of ``R`` requests, end to end.

    ``gain`` (N): tokens a step emits if it drafts enough, bonus included. ``offered`` (N): whether
    the proposer has drafts there. ``first_wins`` (N): in a combination, whether the first proposer
    is taken. ``starts`` (R + 1): where a request's positions begin.
    """

    gain: IntArray
    offered: BoolArray
    first_wins: BoolArray
    starts: IntArray
    prompt_tokens: IntArray

    @cached_property
    def index(self) -> IntArray:
        """0 .. N - 1."""
        return np.arange(len(self.gain))

    @cached_property
    def request(self) -> IntArray:
        """Request of each position (N)."""
        return np.repeat(np.arange(len(self.prompt_tokens)), np.diff(self.starts))

    @cached_property
    def end(self) -> IntArray:
        """Where the positions of each position's request end (N)."""
        return np.repeat(self.starts[1:], np.diff(self.starts))

    @cached_property
    def kv_tokens(self) -> IntArray:
        """Cached tokens of the request when a step starts at each position (N)."""
        before_first = self.prompt_tokens + 1 - self.starts[:-1]
        return self.index + np.repeat(before_first, np.diff(self.starts))

    @property
    def output_tokens(self) -> IntArray:
        """Tokens each request generates (R)."""
        return np.diff(self.starts) + 1


def single(acceptance: Sequence[IntArray], prompt_tokens: Sequence[int], *, lag: bool) -> Positions:
    """Positions of one proposer that always offers drafts (see `with_misses`).

    ``lag``: with j tokens generated read entry j - 1, as the paper's simulator does; without, read
    entry j, which is what the record means.
    """
    return better_of(acceptance, acceptance, prompt_tokens, lag=lag)


def better_of(
    first: Sequence[IntArray],
    second: Sequence[IntArray],
    prompt_tokens: Sequence[int],
    *,
    lag: bool,
) -> Positions:
    """Positions where the proposer with the longer acceptance drafts, the first on ties.

    Two recordings of a request may differ in length; the shorter counts.
    """
    lengths = [min(len(a), len(b)) for a, b in zip(first, second, strict=True)]
    gains = [_flat(side, lengths, lag) for side in (first, second)]
    return Positions(
        gain=np.maximum(*gains),
        offered=np.ones(len(gains[0]), dtype=bool),
        first_wins=gains[0] >= gains[1],
        starts=np.concatenate([[0], np.cumsum(np.array(lengths) - 1)]),
        prompt_tokens=np.array(prompt_tokens, dtype=np.int64),
    )


def with_misses(positions: Positions, match_probability: float, seed: int) -> Positions:
    """The same with no drafts at some positions that accept none.

    n-gram lookup finds no match at many positions; where it found one that was then rejected is
    not in the record, so that is drawn. The draw is one a position, the same for every batch size.
    """
    found = np.random.default_rng(seed).random(len(positions.gain)) < match_probability
    return with_offers(positions, (positions.gain > 1) | found)


def with_offers(positions: Positions, offered: BoolArray) -> Positions:
    """The same with drafts only where ``offered`` (N)."""
    return replace(positions, offered=offered)


def flatten(entries: Sequence[BoolArray], *, lag: bool) -> BoolArray:
    """Per-request flags by entry, as flags by position (N)."""
    return np.concatenate([array[:-1] if lag else array[1:] for array in entries])


def _flat(entries: Sequence[IntArray], lengths: Sequence[int], lag: bool) -> IntArray:
    skip = 0 if lag else 1
    return np.concatenate(
        [array[skip : skip + length - 1] for array, length in zip(entries, lengths, strict=True)]
    )
