"""Walks found by array passes equal walks found step by step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trace_examples import positions, request, trace

from draftgate.analysis.policies import Adaptive, Fixed, Oracle, Threshold
from draftgate.analysis.positions import single
from draftgate.analysis.simulate import Setup, simulate
from draftgate.analysis.walk import walk_batched, walk_memoryless, walk_stateful


def stepwise(found, choose) -> list[tuple[int, int]]:
    """(position, batched) of each step; ``choose(position, memory) -> k`` with a fresh memory."""
    steps = []
    for begin, end in zip(found.starts, found.starts[1:], strict=False):
        memory: dict[str, float] = {}
        place = begin
        while place < end:
            batched = choose(found, place, memory)
            steps.append((int(place), int(batched)))
            place += min(found.gain[place], batched)
    return steps


def taken(walk) -> list[tuple[int, int]]:
    return list(zip(walk.position.tolist(), walk.batched.tolist(), strict=True))


@given(positions(), st.integers(1, 20))
def test_fixed(found, k) -> None:
    def choose(found, place, memory):
        return k + 1 if found.offered[place] else 1

    assert taken(walk_memoryless(found, Fixed(k))) == stepwise(found, choose)


@given(positions())
def test_oracle_accepts_all_it_drafts(found) -> None:
    walk = walk_memoryless(found, Oracle())
    assert taken(walk) == stepwise(found, lambda found, place, memory: found.gain[place])


@given(positions(), st.integers(1, 20))
def test_adaptive(found, cap) -> None:
    def choose(found, place, memory):
        if not found.offered[place]:
            return 1
        k = min(memory.get("k", 5), cap)
        accepted = min(found.gain[place], k + 1) - 1
        memory["k"] = k + 2 if accepted == k else max(k - 1, 1)
        return k + 1

    assert taken(walk_stateful(found, Adaptive(), cap)) == stepwise(found, choose)


@given(positions(), st.floats(0, 1), st.integers(1, 8))
def test_threshold(found, rate, k) -> None:
    def choose(found, place, memory):
        if not found.offered[place]:
            return 1
        drafted = k if memory.get("rate", 1.0) >= rate else 1
        accepted = min(found.gain[place], drafted + 1) - 1
        memory["rate"] = 0.8 * memory.get("rate", 1.0) + 0.2 * accepted / drafted
        return drafted + 1

    assert taken(walk_stateful(found, Threshold(rate, k), 20)) == stepwise(found, choose)


@given(positions(), st.integers(1, 20), st.integers(1, 5))
def test_a_constant_schedule_is_fixed(found, k, slots) -> None:
    batched = walk_batched(found, lambda running: k, slots)
    assert taken(batched) == taken(walk_memoryless(found, Fixed(k)))


def test_the_schedule_sees_the_requests_in_flight() -> None:
    """Two slots, requests of 1, 3 and 2 tokens, nothing accepted: who runs beside whom?"""
    found = single([np.ones(n, dtype=np.int64) for n in (1, 3, 2)], [9, 9, 9], lag=False)
    seen = []
    walk_batched(found, lambda running: seen.append(running) or 1, slots=2)
    # step 1: prefills of both first; 2: decode + prefill of the third; 3: both decode
    assert seen == [2, 2, 2]
    seen.clear()
    walk_batched(found, lambda running: seen.append(running) or 1, slots=1)
    assert seen == [1] * (1 + 3 + 2)


def test_the_entry_read_with_j_tokens_generated() -> None:
    entries = [np.array([1, 2, 3, 4])]
    assert single(entries, [9], lag=False).gain.tolist() == [2, 3, 4]
    assert single(entries, [9], lag=True).gain.tolist() == [1, 2, 3]


@pytest.mark.parametrize("policy", [Adaptive(), Threshold(0.5)])
def test_a_policy_that_learns_beats_a_hopeless_fixed_k(policy) -> None:
    hopeless = trace(request(100, eagle3=[1] * 200))
    setup = Setup(batch_sizes=(128,))
    learned, fixed = simulate(hopeless, "eagle3", [policy, Fixed(5)], setup)
    assert learned["speedup"] > fixed["speedup"]
