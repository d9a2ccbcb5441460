"""Acceptance of each prompt as two counts, for comparisons that are not exact."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from draftgate.engine.records import RequestRecord, RoundRecord

Ratios = Mapping[str, tuple[float, float]]
"""Prompt id -> numerator and denominator, summed over rounds."""

LIMITS: Mapping[str, float] = MappingProxyType({"acceptance_length": 0.03, "tokens_per_step": 0.03})
"""The ratios, and their largest tolerated relative losses where nobody states others."""


def by_prompt(rounds: Sequence[RoundRecord], *, drafts: bool) -> dict[str, Ratios]:
    """Both ratios where drafts were verified, else none: standard decoding has nothing to lose."""
    if not drafts:
        return {}
    return {
        "acceptance_length": acceptance_length(rounds),
        "tokens_per_step": tokens_per_step(rounds),
    }


def acceptance_length(rounds: Sequence[RoundRecord]) -> Ratios:
    """Tokens that verifications yield, bonus included, and verifications."""
    return _summed(rounds, lambda r: (sum(r.accepted) + len(r.drafted), len(r.drafted)))


def tokens_per_step(rounds: Sequence[RoundRecord]) -> Ratios:
    """Decode tokens and decode steps."""
    return _summed(rounds, lambda r: (sum(r.emitted[1:]), max(len(r.emitted) - 1, 0)))


def _summed(
    rounds: Sequence[RoundRecord], count: Callable[[RequestRecord], tuple[int, int]]
) -> Ratios:
    sums: dict[str, tuple[float, float]] = {}
    for record in rounds:
        for request in record.requests:
            above, below = count(request)
            before = sums.get(request.prompt_id, (0, 0))
            sums[request.prompt_id] = (before[0] + above, before[1] + below)
    return sums
