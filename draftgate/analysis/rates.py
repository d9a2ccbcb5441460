"""Acceptance rates by draft position, and acceptance lengths at matched output lengths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from draftgate.analysis.clusters import Ratio, ratio
from draftgate.analysis.steps import Steps


@dataclass(frozen=True)
class PositionRate:
    """Of draft position ``position`` (from 0).

    ``marginal``: accepted there / drafts, of any length. ``conditional``: accepted there / drafts
    that reach it with all before accepted; None where none does.
    """

    position: int
    marginal: Ratio
    conditional: Ratio | None


@dataclass(frozen=True)
class Matched:
    """Two arms over the same stretches of output. ``prompts``: in both, ``tokens``: compared."""

    prompts: int
    tokens: int
    first: Ratio
    second: Ratio


def position_rates(requests: Sequence[Steps], k: int) -> tuple[PositionRate, ...]:
    """Rates of draft positions 0 .. ``k`` - 1; empty where nothing was drafted."""
    found = (_rate(requests, position) for position in range(k))
    return tuple(rate for rate in found if rate is not None)


def acceptance_length(requests: Sequence[Steps]) -> Ratio | None:
    """Tokens of a step that had drafts, with its noise; None where nothing was drafted."""
    drafting = [steps.emitted[steps.drafted > 0] for steps in requests]
    counts = np.array([len(emitted) for emitted in drafting])
    return ratio(np.array([emitted.sum() for emitted in drafting]), counts)


def length_matched(first: Sequence[Steps], second: Sequence[Steps]) -> Matched | None:
    """Acceptance lengths where both arms have output for the same prompt.

    An arm that stops early looks better or worse only because the stretch that it left out is
    harder or easier to draft; cutting both at the shorter output removes that. None where the two
    share no prompt with drafts.
    """
    other = {steps.request_id: steps for steps in second}
    pairs = [(steps, other[steps.request_id]) for steps in first if steps.request_id in other]
    ends = [min(a.output_tokens, b.output_tokens) for a, b in pairs]
    lengths = [acceptance_length(_cut(side, ends)) for side in zip(*pairs, strict=True)]
    if not lengths or lengths[0] is None or lengths[1] is None:
        return None
    return Matched(len(pairs), sum(ends), lengths[0], lengths[1])


def _cut(requests: Sequence[Steps], ends: Sequence[int]) -> list[Steps]:
    return [s.taken(s.position < end) for s, end in zip(requests, ends, strict=True)]


def _rate(requests: Sequence[Steps], position: int) -> PositionRate | None:
    accepted = [steps.emitted - 1 for steps in requests]
    drafts = np.array([(steps.drafted > 0).sum() for steps in requests])
    hits = np.array([(a > position).sum() for a in accepted])
    reached = np.array(
        [
            ((a >= position) & (steps.drafted > position)).sum()
            for a, steps in zip(accepted, requests, strict=True)
        ]
    )
    marginal = ratio(hits, drafts)
    return PositionRate(position, marginal, ratio(hits, reached)) if marginal else None
