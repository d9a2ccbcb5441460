"""The steps a policy takes through the positions, without a loop over steps where that can be.

A policy without memory fixes each position's successor, so the positions visited are those that
can be reached from the requests' first: pointer doubling finds them in log2(steps) array passes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from draftgate.analysis.policies import Fixed, Oracle, Stateful
from draftgate.analysis.positions import Positions
from draftgate.analysis.traces import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class Walk:
    """Steps in order, request by request.

    ``position`` (S): where each starts. ``batched`` (S): tokens it verifies, the last token and the
    drafts. ``drafting`` (S): whether the proposer was asked at all; an oracle asks even where
    nothing will be accepted.
    """

    position: IntArray
    batched: IntArray
    drafting: BoolArray


def walk_memoryless(positions: Positions, policy: Fixed | Oracle) -> Walk:
    """All requests under a policy that looks at the position only."""
    asked = not isinstance(policy, Fixed) or policy.k > 0
    if isinstance(policy, Fixed):
        batched = np.where(positions.offered, policy.k + 1, 1)
    else:
        batched = positions.gain
    visited = _reachable(positions, np.minimum(positions.gain, batched))
    return Walk(visited, batched[visited], np.full(len(visited), asked))


def walk_stateful(positions: Positions, policy: Stateful, cap: int) -> Walk:
    """All requests, side by side, under a policy that remembers each one's past.

    Where nothing is offered the memory stays as it is. ``cap`` bounds k: the record shows no more.
    """
    batched = np.zeros(len(positions.gain), dtype=np.int64)
    place, end = positions.starts[:-1], positions.starts[1:]
    memory = policy.initial(len(place))
    alive = place < end
    while alive.any():
        place, end, memory = place[alive], end[alive], memory[alive]
        offered = positions.offered[place]
        drafted = np.minimum(policy.propose(memory), cap)
        batched[place] = np.where(offered, drafted + 1, 1)
        emitted = np.minimum(positions.gain[place], batched[place])
        memory = np.where(offered, policy.update(memory, drafted, emitted - 1), memory)
        place = place + emitted
        alive = place < end
    visited = np.flatnonzero(batched)
    return Walk(visited, batched[visited], np.ones(len(visited), dtype=bool))


def walk_batched(positions: Positions, k_at: Callable[[int], int], slots: int) -> Walk:
    """Continuous batching where k depends on the number of running requests.

    Requests start in order, ``slots`` at a time, and spend one step on their prefill.
    """
    batched = np.zeros(len(positions.gain), dtype=np.int64)
    drafting = np.zeros(len(positions.gain), dtype=bool)
    begin, finish = positions.starts[:-1], positions.starts[1:]
    place = end = np.empty(0, dtype=np.int64)
    waiting = 0
    while len(place) or waiting < len(begin):
        joining = slice(waiting, waiting + slots - len(place))
        waiting = min(joining.stop, len(begin))
        k = k_at(len(place) + len(begin[joining]))
        batched[place] = np.where(positions.offered[place], k + 1, 1)
        drafting[place] = k > 0
        place = place + np.minimum(positions.gain[place], batched[place])
        place = np.concatenate([place, begin[joining]])
        end = np.concatenate([end, finish[joining]])
        place, end = place[place < end], end[place < end]
    visited = np.flatnonzero(batched)
    return Walk(visited, batched[visited], drafting[visited])


def _reachable(positions: Positions, emitted: IntArray) -> IntArray:
    """The positions that walks from each request's first visit, in order.

    In a round ``jump`` leads ``stride`` steps ahead, past a request's end to ``count``;
    ``open_ends`` are visited positions that it may take somewhere new. A request of n positions
    has ended once ``stride`` is n, so the longer requests stand first, the less there is to do.
    """
    count = len(emitted)
    jump = np.full(count + 1, count)
    np.add(positions.index, emitted, out=jump[:count])
    np.copyto(jump[:count], count, where=jump[:count] >= positions.end)
    doubled = np.full(count + 1, count)
    lengths = np.diff(positions.starts)
    open_ends = positions.starts[:-1][lengths > 0]
    visited = np.zeros(count, dtype=bool)
    visited[open_ends] = True
    stride = 1
    while len(open_ends):
        reached = jump[open_ends]
        ahead = reached < count
        open_ends, reached = open_ends[ahead], reached[ahead]
        visited[reached] = True
        stride *= 2
        live = int(positions.starts[1:][lengths > stride].max(initial=0))
        open_ends = np.concatenate([open_ends, reached])
        open_ends = open_ends[open_ends < live]
        # All are in bounds: "clip" and a second buffer only spare numpy a check and a page fault.
        np.take(jump, jump[:live], out=doubled[:live], mode="clip")
        jump, doubled = doubled, jump
    return np.flatnonzero(visited)
