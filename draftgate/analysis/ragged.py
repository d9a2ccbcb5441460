"""Continuous batching of different requests: a free slot takes the next request at once.

How many steps a request takes does not depend on its neighbours, so the schedule is known before
any time is: every request gets its first step, and the batch's sums are counts by engine step.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from draftgate.analysis.cost import CostModel
from draftgate.analysis.positions import Positions
from draftgate.analysis.traces import BoolArray, FloatArray, IntArray
from draftgate.analysis.walk import Walk


@dataclass(frozen=True, eq=False)
class _Schedule:
    """``prefill`` (R) and ``decode`` (S): the engine step in which each happens."""

    prefill: IntArray
    decode: IntArray
    steps: int


def ragged_speedup(
    positions: Positions,
    walk: Walk,
    charged: Mapping[str, BoolArray],
    switching_s: FloatArray,
    cost: CostModel,
    slots: int,
) -> float:
    """Throughput over all requests with ``slots`` in flight, divided by standard decoding's.

    A step's prompts and drafts are verified together; drafting happens once a step, over the tokens
    of all requests that are charged, with as many passes as the longest draft has tokens.
    """
    every = np.arange(len(positions.gain))
    standard = Walk(every, np.ones_like(every), np.zeros(len(every), dtype=bool))
    nothing = np.zeros(len(every))
    before = _makespan(positions, standard, {}, nothing, cost, slots)
    return before / _makespan(positions, walk, charged, switching_s, cost, slots)


def _makespan(
    positions: Positions,
    walk: Walk,
    charged: Mapping[str, BoolArray],
    switching_s: FloatArray,
    cost: CostModel,
    slots: int,
) -> float:
    """Seconds from the first request's start to the last one's end."""
    schedule = _schedule(positions, walk, slots)
    kv_tokens = positions.kv_tokens[walk.position].astype(float)

    def by_step(weights: FloatArray) -> FloatArray:
        return np.bincount(schedule.decode, weights, schedule.steps).astype(float)

    prompts = np.bincount(schedule.prefill, positions.prompt_tokens, schedule.steps)
    ones = np.ones(schedule.steps)
    verify = cost.verify_seconds(
        ones, by_step(kv_tokens), prompts + by_step(walk.batched.astype(float))
    )
    total = float(verify.sum()) + cost.overhead_s * schedule.steps
    for proposer, mask in charged.items():
        drafting = (by_step(mask.astype(float)) > 0).astype(float)
        passes = np.zeros(schedule.steps)
        np.maximum.at(passes, schedule.decode, mask * (walk.batched - 1.0))
        draft = cost.draft_seconds(
            proposer,
            drafting,
            by_step(mask * kv_tokens),
            by_step(mask * walk.batched.astype(float)),
            passes,
            verify * drafting,
        )
        total += float(draft.sum())
    switching = np.zeros(schedule.steps)
    np.maximum.at(switching, schedule.decode, switching_s)
    return total + float(switching.sum())


def _schedule(positions: Positions, walk: Walk, slots: int) -> _Schedule:
    request = positions.request[walk.position]
    counts = np.bincount(request, minlength=len(positions.prompt_tokens))
    prefill = _first_steps(counts.tolist(), slots)
    rank = np.arange(len(request)) - (np.cumsum(counts) - counts)[request]
    decode = prefill[request] + 1 + rank
    return _Schedule(prefill, decode, int((prefill + counts).max()) + 1)


def _first_steps(decode_steps: Sequence[int], slots: int) -> IntArray:
    """When each request starts, in order, at the first free slot."""
    free = [0] * slots
    starts = []
    for steps in decode_steps:
        start = heapq.heappop(free)
        starts.append(start)
        heapq.heappush(free, start + 1 + steps)
    return np.array(starts, dtype=np.int64)
