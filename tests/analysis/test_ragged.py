"""Continuous batching against a loop over engine steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from step_loop import draft, verify
from trace_examples import positions, request, trace

from draftgate.analysis.choices import Batches
from draftgate.analysis.cost_models import H100_LLAMA31_8B_BY_K
from draftgate.analysis.policies import DynamicByBatch, Fixed, Oracle
from draftgate.analysis.ragged import ragged_speedup
from draftgate.analysis.simulate import Setup, simulate
from draftgate.analysis.walk import walk_memoryless

COST = H100_LLAMA31_8B_BY_K


def engine_seconds(found, k: int | None, slots: int) -> float:
    """An engine that drafts ``k`` tokens with EAGLE-3 (None: standard decoding), step by step."""
    waiting = list(range(len(found.prompt_tokens)))
    running: dict[int, int] = {}  # request -> tokens generated
    seconds = 0.0
    while waiting or running:
        joining = [waiting.pop(0) for _ in range(min(slots - len(running), len(waiting)))]
        batched = sum(int(found.prompt_tokens[r]) for r in joining)
        kv = draft_tokens = passes = 0
        for r, generated in running.items():
            place = found.starts[r] + generated - 1
            drafted = k if k and found.offered[place] else 0
            kv += int(found.prompt_tokens[r]) + generated
            batched += drafted + 1
            draft_tokens += drafted + 1
            passes = max(passes, drafted)
            running[r] = generated + min(int(found.gain[place]), drafted + 1)
        verify_s = verify(COST, kv, batched)
        seconds += verify_s + COST.overhead_s
        if running and k is not None:
            seconds += draft(COST, "eagle3", kv, draft_tokens, passes, verify_s)
        running |= dict.fromkeys(joining, 1)
        running = {r: g for r, g in running.items() if g < found.output_tokens[r]}
    return seconds


@given(positions(), st.integers(1, 6), st.integers(1, 4))
def test_equals_the_loop_over_engine_steps(found, k, slots) -> None:
    walk = walk_memoryless(found, Fixed(k))
    charged = {"eagle3": np.ones(len(walk.position), dtype=bool)}
    nothing = np.zeros(len(walk.position))
    expected = engine_seconds(found, None, slots) / engine_seconds(found, k, slots)
    assert ragged_speedup(found, walk, charged, nothing, COST, slots) == pytest.approx(expected)


def ragged(drawn, policy, sizes) -> list[float]:
    setup = Setup(batches=Batches.RAGGED, batch_sizes=sizes)
    return [r["speedup"] for r in simulate(drawn, "eagle3", [policy], setup)]


def test_a_batch_larger_than_the_trace_is_the_whole_trace() -> None:
    some = trace(*(request(20 + i, eagle3=[2, 1, 3] * (3 + i)) for i in range(6)))
    assert ragged(some, Oracle(), (6,)) == ragged(some, Oracle(), (500,))


def test_the_gain_falls_with_the_batch() -> None:
    some = trace(*(request(60, eagle3=[4, 1, 3] * 30) for _ in range(64)))
    gains = ragged(some, Fixed(5), (1, 4, 16, 64))
    assert gains == sorted(gains, reverse=True)


def test_a_dynamic_schedule_drafts_in_the_tail() -> None:
    """Alone at the end, the long request drafts; in the full batch nobody does."""
    some = trace(request(60, eagle3=[4] * 200), *(request(60, eagle3=[4] * 9) for _ in range(31)))
    never, tail, always = (
        ragged(some, policy, (32,))[0]
        for policy in (
            DynamicByBatch(((32, 0),)),
            DynamicByBatch(((1, 3), (32, 0))),
            DynamicByBatch(((32, 3),)),
        )
    )
    assert never == 1.0
    assert never < tail < always


def test_requests_of_one_token_take_one_step() -> None:
    assert ragged(trace(*(request(9, eagle3=[1]) for _ in range(5))), Fixed(3), (2,)) == [1.0]
