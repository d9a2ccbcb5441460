"""Offline replay: what a training-free proposer would have gained on recorded tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from draftgate.analysis.policies import Fixed
from draftgate.analysis.positions import flatten, single, with_offers
from draftgate.analysis.proposals import Proposer, emitted_lengths
from draftgate.analysis.simulate import Setup, speedups
from draftgate.analysis.traces import IntArray, Trace
from draftgate.analysis.walk import walk_memoryless


@dataclass(frozen=True)
class Method:
    """A proposer's settings. The lookup sizes are None where the method has none."""

    name: str
    cap: int
    prompt_lookup_min: int | None = None
    prompt_lookup_max: int | None = None

    def __str__(self) -> str:
        lookup = f" lookup {self.prompt_lookup_min}-{self.prompt_lookup_max}"
        return f"{self.name}{lookup if self.prompt_lookup_min else ''} k {self.cap}"


@dataclass(frozen=True, eq=False)
class Replay:
    """A method on a trace. ``emitted`` and ``drafted``: one array a request, an entry a position.

    ``emitted`` counts the bonus token, as the record does.
    """

    trace: Trace
    method: Method
    emitted: tuple[IntArray, ...]
    drafted: tuple[IntArray, ...]


def replay(trace: Trace, method: Method, proposer: Proposer) -> Replay:
    """Ask ``proposer`` at every position of ``trace``; requests in order, none may be empty."""
    emitted, drafted = [], []
    for request in trace.requests:
        proposals = proposer.propose(request.prompt_ids, request.output_ids)
        emitted.append(emitted_lengths(proposals, request.output_ids))
        drafted.append(proposals.counts)
    return Replay(trace, method, tuple(emitted), tuple(drafted))


def record_of(replayed: Replay) -> dict[str, Any]:
    """The flat record.

    ``acceptance_length``: mean over all positions. ``agreement``: share of positions equal to the
    trace's own, which is cut to the cap; None where the trace has none of the method.
    """
    method = replayed.method
    lengths = np.concatenate(replayed.emitted)
    agreement = _agreement(replayed)
    return {
        "trace": replayed.trace.name,
        "method": method.name,
        "prompt_lookup_min": method.prompt_lookup_min,
        "prompt_lookup_max": method.prompt_lookup_max,
        "cap": method.cap,
        "positions": len(lengths),
        "acceptance_length": round(float(lengths.mean()), 4),
        "agreement": None if agreement is None else round(agreement, 6),
    }


def tokens_per_step(replayed: Replay) -> float | None:
    """Tokens a decode step yields on the path an engine takes with k = cap; None without one."""
    positions = single(replayed.emitted, _prompt_tokens(replayed.trace), lag=False)
    steps = len(walk_memoryless(positions, Fixed(replayed.method.cap)).position)
    return len(positions.gain) / steps if steps else None


def simulated_speedup(replayed: Replay, setup: Setup) -> float:
    """Speedup at the first batch size of ``setup``, drafting exactly where the replay did."""
    positions = single(replayed.emitted, _prompt_tokens(replayed.trace), lag=False)
    offered = flatten([counts > 0 for counts in replayed.drafted], lag=False)
    cap = replayed.method.cap
    positions = with_offers(positions, offered)
    return speedups(positions, "ngram", Fixed(cap), setup, cap)[0]


def best(replays: Sequence[Replay], setup: Setup) -> tuple[Replay, float]:
    """The replay with the largest simulated speedup, and that speedup; the earlier on ties."""
    scores = [simulated_speedup(replayed, setup) for replayed in replays]
    top = int(np.argmax(scores))
    return replays[top], scores[top]


def _agreement(replayed: Replay) -> float | None:
    """Both sides are cut to the smaller cap. Of a record of steps only their starts count, and the
    last step to what the output's end left of it.
    """
    trace, most = replayed.trace, min(replayed.method.cap, replayed.trace.cap) + 1
    same = []
    for mine, request in zip(replayed.emitted, trace.requests, strict=True):
        own = request.acceptance.get(replayed.method.name)
        if own is None or len(own) != len(mine):
            continue
        starts = request.step_starts
        if starts is None:
            same.append(np.minimum(mine, most) == np.minimum(own, most))
        else:
            limit = np.minimum(most, len(mine) - starts)
            same.append(np.minimum(mine[starts], limit) == np.minimum(own[starts], limit))
    flags = np.concatenate(same) if same else np.empty(0, dtype=bool)
    return float(flags.mean()) if len(flags) and trace.prompts_known else None


def _prompt_tokens(trace: Trace) -> list[int]:
    return [request.prompt_tokens for request in trace.requests]
