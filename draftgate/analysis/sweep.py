"""Replay over many settings: which lookup sizes and k would have been best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from draftgate.analysis.errors import ReplayError
from draftgate.analysis.ngram import NgramProposer
from draftgate.analysis.proposals import Proposer
from draftgate.analysis.replay import Method, Replay, replay
from draftgate.analysis.suffix import SuffixProposer
from draftgate.analysis.traces import Trace

METHODS = ("ngram", "suffix")


def methods(
    name: str, lookup_min: Sequence[int], lookup_max: Sequence[int], caps: Sequence[int]
) -> tuple[Method, ...]:
    """Every combination that is possible; raises ReplayError where none is."""
    if name not in METHODS:
        raise ReplayError(f"unknown method {name!r}; there are {', '.join(METHODS)}")
    if name == "suffix":
        found = [Method(name, cap) for cap in caps]
    else:
        found = [
            Method(name, cap, smallest, largest)
            for smallest in lookup_min
            for largest in lookup_max
            if smallest <= largest
            for cap in caps
        ]
    if not found:
        raise ReplayError(
            f"lookup {min(lookup_min)} to {max(lookup_max)}: the smallest is at most the largest"
        )
    return tuple(found)


def sweep(trace: Trace, chosen: Sequence[Method]) -> Iterator[Replay]:
    """The replay of each method in turn; each starts without memory of the others."""
    for method in chosen:
        yield replay(trace, method, _proposer(method))


def _proposer(method: Method) -> Proposer:
    if method.prompt_lookup_min is None or method.prompt_lookup_max is None:
        return SuffixProposer(method.cap)
    return NgramProposer(method.prompt_lookup_min, method.prompt_lookup_max, method.cap)
