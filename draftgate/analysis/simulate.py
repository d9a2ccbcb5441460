"""The simulator: what a policy would gain on a trace, by batch size."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from draftgate.analysis.accounting import COMBINED, charges, switches
from draftgate.analysis.choices import Accounting, Batches
from draftgate.analysis.cost import CostModel
from draftgate.analysis.cost_models import H100_LLAMA31_8B
from draftgate.analysis.errors import PolicyError
from draftgate.analysis.policies import DynamicByBatch, Fixed, Oracle, Policy
from draftgate.analysis.positions import Positions, better_of, single, with_misses
from draftgate.analysis.ragged import ragged_speedup
from draftgate.analysis.replicated import replicated_speedups
from draftgate.analysis.traces import Trace
from draftgate.analysis.walk import Walk, walk_batched, walk_memoryless, walk_stateful

MATCH_PROBABILITY: Mapping[str, float] = {
    "sharegpt": 0.2,
    "cnn": 0.4,
    "gsm8k": 0.2,
    "instructcoder": 0.8,
}
"""The paper's: how often n-gram lookup drafts where nothing is accepted, by workload."""


@dataclass(frozen=True)
class Setup:
    """What a simulation holds fixed.

    ``sample`` requests are drawn with ``seed`` where the trace has more (the paper: 300, 42).
    ``match_probability``: None takes the trace's own, else looks the workload up in
    `MATCH_PROBABILITY` by the trace's name.
    ``switch_s``: seconds a step pays that takes another proposer than the one before.
    """

    cost: CostModel = H100_LLAMA31_8B
    accounting: Accounting = Accounting.PUBLISHED
    batches: Batches = Batches.REPLICATED
    batch_sizes: tuple[int, ...] = (1, 8, 16, 32, 64, 128)
    sample: int = 300
    seed: int = 42
    match_probability: float | None = None
    switch_s: float = 0.0

    def __post_init__(self) -> None:
        """Raise PolicyError on a switching cost that is no duration."""
        if not (math.isfinite(self.switch_s) and self.switch_s >= 0):
            raise PolicyError(f"switching cost {self.switch_s} s: give a finite duration")


def priced(trace: Trace, cost: CostModel) -> tuple[str, ...]:
    """The trace's proposers that the cost model has a cost of, in the model's order."""
    return tuple(name for name in cost.drafts if name in trace.proposers)


def simulate(
    trace: Trace, proposer: str, policies: Sequence[Policy], setup: Setup
) -> list[dict[str, Any]]:
    """Records ``{trace, proposer, policy, accounting, batch_size, speedup}``, policy by policy.

    ``proposer`` is one that the trace holds, or ``combine`` (n-gram and EAGLE-3). Raises
    TraceError, PolicyError or CostModelError where trace, policy and cost model do not fit.
    """
    for name in COMBINED if proposer == "combine" else (proposer,):
        setup.cost.draft(name)
    positions = _positions(_sampled(trace, setup), proposer, setup)
    policies = tuple(policies)
    if proposer == "ngram" and any(not isinstance(policy, Oracle) for policy in policies):
        positions = with_misses(positions, _match_probability(trace, setup), setup.seed)
    return [
        {
            "trace": trace.name,
            "proposer": proposer,
            "policy": str(policy),
            "accounting": setup.accounting.value,
            "batch_size": size,
            "speedup": round(speedup, 4),
        }
        for policy in policies
        for size, speedup in zip(
            setup.batch_sizes,
            speedups(positions, proposer, policy, setup, trace.cap),
            strict=True,
        )
    ]


def speedups(
    positions: Positions, proposer: str, policy: Policy, setup: Setup, cap: int
) -> list[float]:
    """Speedup over standard decoding, by batch size of ``setup``."""
    if isinstance(policy, DynamicByBatch):
        return [_dynamic(positions, proposer, policy, setup, size) for size in setup.batch_sizes]
    if isinstance(policy, Fixed | Oracle):
        walk = walk_memoryless(positions, policy)
    else:
        walk = walk_stateful(positions, policy, cap)
    return _priced(positions, proposer, walk, setup)


def _dynamic(
    positions: Positions, proposer: str, policy: DynamicByBatch, setup: Setup, size: int
) -> float:
    """k follows the running requests: constant in a batch of copies, falling in a ragged tail."""
    if setup.batches is Batches.RAGGED:
        walk = walk_batched(positions, policy.k_at, size)
    else:
        walk = walk_memoryless(positions, Fixed(policy.k_at(size)))
    return _priced(positions, proposer, walk, replace(setup, batch_sizes=(size,)))[0]


def _priced(positions: Positions, proposer: str, walk: Walk, setup: Setup) -> list[float]:
    charged = charges(proposer, setup.accounting, positions, walk)
    switching = np.zeros(len(walk.position))
    if setup.switch_s:
        switching[switches(positions, walk)] = setup.switch_s
    if setup.batches is Batches.RAGGED:
        return [
            ragged_speedup(positions, walk, charged, switching, setup.cost, size)
            for size in setup.batch_sizes
        ]
    copies = np.array(setup.batch_sizes, dtype=float)
    result = replicated_speedups(positions, walk, charged, switching, setup.cost, copies)
    return [float(value) for value in result]


def _sampled(trace: Trace, setup: Setup) -> Trace:
    """The paper's draw: `random.sample` of the records.

    In the order drawn; replicated batches know no order, and there the longest come first, which
    shortens the search for their steps.
    """
    drawn = trace.requests
    if len(drawn) > setup.sample:
        drawn = tuple(random.Random(setup.seed).sample(drawn, setup.sample))
    if setup.batches is Batches.REPLICATED:
        drawn = tuple(sorted(drawn, key=lambda request: -len(request.output_ids)))
    return replace(trace, requests=drawn)


def _positions(trace: Trace, proposer: str, setup: Setup) -> Positions:
    """The paper reads the entry before the one meant; only its own batches of its own traces keep
    that: a record of ours holds the steps taken, and its first entry is the prefill's.
    """
    recorded = any(request.step_starts is not None for request in trace.requests)
    lag = setup.batches is Batches.REPLICATED and not recorded
    prompts = [request.prompt_tokens for request in trace.requests]
    if proposer == "combine":
        first, second = (trace.acceptance_of(name) for name in COMBINED)
        return better_of(first, second, prompts, lag=lag)
    return single(trace.acceptance_of(proposer), prompts, lag=lag)


def _match_probability(trace: Trace, setup: Setup) -> float:
    if setup.match_probability is not None:
        return setup.match_probability
    if trace.match_probability is not None:
        return trace.match_probability
    name = trace.name.lower()
    known = [chance for workload, chance in MATCH_PROBABILITY.items() if workload in name]
    if not known:
        raise PolicyError(
            f"trace {trace.name!r}: how often n-gram lookup drafts where nothing is accepted is "
            f"known for {', '.join(MATCH_PROBABILITY)} only; give --match-probability, or use "
            "the oracle"
        )
    return known[0]
