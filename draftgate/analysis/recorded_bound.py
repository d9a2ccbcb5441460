"""How far a measured cell is from its bound: fixed k, oracle and combination on its own records.

A record holds the steps taken, so the oracle knows how much of each draft was accepted, up to the
recorded k; what a draft from another position would have yielded is a lower bound
(`measured_trace`). Batches are ragged: the requests as they were, with free slots refilled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from draftgate.analysis.choices import Accounting, Batches
from draftgate.analysis.measured_trace import entries
from draftgate.analysis.policies import Fixed, Oracle, Policy
from draftgate.analysis.positions import Positions, better_of, single, with_offers
from draftgate.analysis.simulate import Setup, speedups
from draftgate.analysis.steps import Steps, measured_steps
from draftgate.analysis.traces import BoolArray, IntArray
from draftgate.measure.record import Block


def recorded_bounds(block: Block, proposer: str, setup: Setup) -> list[dict[str, Any]]:
    """Records ``{proposer, policy, batch_size, speedup}``: the recorded k, and the oracle.

    Raises CostModelError where the cost model lacks ``proposer``.
    """
    positions = _positions(block)
    policies = (Fixed(block.subject.k), Oracle())
    return [
        record
        for policy in policies
        for record in _records(positions, proposer, policy, setup, block.subject.k)
    ]


def combined_bounds(first: Block, second: Block, setup: Setup) -> list[dict[str, Any]]:
    """Records ``{proposer, policy, accounting, batch_size, speedup}`` of n-gram with EAGLE-3.

    The oracle takes the longer acceptance at every position, n-gram's (``first``) on ties, under
    each accounting. Requests that only one of the two has are left out; empty where all are.
    """
    sides, prompts = _common(first, second)
    if not prompts:
        return []
    positions = better_of(*sides, prompts, lag=False)
    k = max(first.subject.k, second.subject.k)
    return [
        {**record, "accounting": accounting.value}
        for accounting in Accounting
        for record in _records(
            positions, "combine", Oracle(), replace(setup, accounting=accounting), k
        )
    ]


def _records(
    positions: Positions, proposer: str, policy: Policy, setup: Setup, k: int
) -> Iterator[dict[str, Any]]:
    ragged = replace(setup, batches=Batches.RAGGED)
    gains = speedups(positions, proposer, policy, ragged, k)
    for size, gain in zip(setup.batch_sizes, gains, strict=True):
        yield {
            "proposer": proposer,
            "policy": str(policy),
            "batch_size": size,
            "speedup": round(gain, 4),
        }


def _positions(block: Block) -> Positions:
    found = [steps for steps in measured_steps(block.rounds[0]) if steps.output_tokens]
    prompts = _prompt_tokens(block)
    positions = single(
        [_entries(steps) for steps in found], [prompts[s.request_id] for s in found], lag=False
    )
    return with_offers(positions, np.concatenate([_offered(steps) for steps in found]))


def _entries(steps: Steps) -> IntArray:
    bounds = np.concatenate([[0], steps.position, [steps.output_tokens]])
    return entries(np.diff(bounds).tolist())


def _offered(steps: Steps) -> BoolArray:
    """Whether drafts were there at each position; between steps there were, since some passed."""
    flags = np.ones(steps.output_tokens, dtype=bool)
    flags[steps.position] = steps.drafted > 0
    return flags[1:]


def _common(first: Block, second: Block) -> tuple[tuple[list[IntArray], list[IntArray]], list[int]]:
    """Entries of both and prompt lengths, of the requests that both have."""
    other = {steps.request_id: steps for steps in measured_steps(second.rounds[0])}
    pairs = [
        (steps, other[steps.request_id])
        for steps in measured_steps(first.rounds[0])
        if steps.request_id in other
        and steps.output_tokens
        and other[steps.request_id].output_tokens
    ]
    prompts = _prompt_tokens(first)
    return (
        ([_entries(a) for a, _ in pairs], [_entries(b) for _, b in pairs]),
        [prompts[steps.request_id] for steps, _ in pairs],
    )


def _prompt_tokens(block: Block) -> dict[str, int]:
    return {request.prompt_id: request.prompt_tokens for request in block.rounds[0].requests}
