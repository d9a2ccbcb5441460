"""Batches as published: copies of one request, in lockstep.

All costs are linear, so a request needs only sums over its steps, and every batch size is then a
product. Draft tokens and passes are those of one copy: the paper charges them so.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from draftgate.analysis.cost import CostModel, prefill_seconds, standard_seconds
from draftgate.analysis.positions import Positions
from draftgate.analysis.traces import BoolArray, FloatArray, IntArray
from draftgate.analysis.walk import Walk


def replicated_speedups(
    positions: Positions,
    walk: Walk,
    charged: Mapping[str, BoolArray],
    switching_s: FloatArray,
    cost: CostModel,
    copies: FloatArray,
) -> FloatArray:
    """Mean throughput over the requests, by batch size, divided by that of standard decoding.

    ``switching_s`` (S): seconds a step pays for changing proposers. Shape: that of ``copies``.
    """
    tokens = positions.output_tokens.astype(float)
    prompts = positions.prompt_tokens.astype(float)
    standard = standard_seconds(cost, prompts, tokens, copies)
    seconds = prefill_seconds(cost, prompts, copies) + _decode_seconds(
        positions, walk, charged, switching_s, cost, copies
    )
    return _mean_throughput(tokens, seconds) / _mean_throughput(tokens, standard)


def _mean_throughput(tokens: FloatArray, seconds: FloatArray) -> FloatArray:
    """Per copy; shape (copies)."""
    rates: FloatArray = (tokens[:, None] / seconds).mean(axis=0)
    return rates


def _decode_seconds(
    positions: Positions,
    walk: Walk,
    charged: Mapping[str, BoolArray],
    switching_s: FloatArray,
    cost: CostModel,
    copies: FloatArray,
) -> FloatArray:
    """Shape (requests, copies)."""
    bounds = np.searchsorted(walk.position, positions.starts)
    kv_tokens = positions.kv_tokens[walk.position]

    def step_sums(taken: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Number, cached and batched tokens of each request's ``taken`` steps, as columns."""
        if taken.all():
            return np.diff(bounds)[:, None].astype(float), *all_tokens
        kv, batched = (_by_request(taken * tokens, bounds) for tokens in (kv_tokens, walk.batched))
        return _by_request(taken, bounds), kv, batched

    all_tokens = _by_request(kv_tokens, bounds), _by_request(walk.batched, bounds)
    steps, kv, batched = step_sums(np.ones(len(kv_tokens), dtype=bool))
    seconds = cost.verify_seconds(steps, kv * copies, batched * copies) + cost.overhead_s * steps
    for proposer, mask in charged.items():
        steps, kv, batched = step_sums(mask)
        verify = cost.verify_seconds(steps, kv * copies, batched * copies)
        passes = batched - steps
        seconds = seconds + cost.draft_seconds(
            proposer, steps, kv * copies, batched, passes, verify
        )
    return seconds + _by_request(switching_s, bounds)


def _by_request(values: IntArray | BoolArray | FloatArray, bounds: IntArray) -> FloatArray:
    """Sums of ``values`` (S) between ``bounds`` (R + 1), shape (R, 1).

    Differences of one running sum: exact for counts, and no request needs a step.
    """
    running = np.zeros(len(values) + 1, dtype=np.result_type(values, np.int64))
    np.cumsum(values, out=running[1:])
    return np.diff(running[bounds])[:, None].astype(float)
