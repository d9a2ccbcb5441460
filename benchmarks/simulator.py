"""Speed of the simulator against the plain loop over steps, and of replay, on the paper's traces.

The loop (`tests/analysis/step_loop.py`) visits every request of a batch, as the paper's simulator
does; it is timed on a few requests and scaled by their tokens:

    PYTHONPATH=tests/analysis python benchmarks/simulator.py TRACE.jsonl
"""

from __future__ import annotations

import random
import sys
import time
from dataclasses import replace
from pathlib import Path

from step_loop import Proposer, speedup

from draftgate.analysis.cost_models import H100_LLAMA31_8B
from draftgate.analysis.ngram import NgramProposer
from draftgate.analysis.open_trace import open_trace
from draftgate.analysis.policies import Fixed, Oracle
from draftgate.analysis.replay import Method, record_of, replay
from draftgate.analysis.simulate import Setup, simulate
from draftgate.analysis.traces import Trace

SIZES = (1, 8, 16, 32, 64, 128)
PROPOSERS = ("ngram", "eagle3")
KS = (1, 3, 5, None)
SHARE = 8  # of the 300 requests, for the loop: it takes minutes on all


def simulated(trace) -> dict[tuple, float]:
    policies = [Oracle() if k is None else Fixed(k) for k in KS]
    records = [r for p in PROPOSERS for r in simulate(trace, p, policies, Setup())]
    return {(r["proposer"], r["policy"], r["batch_size"]): r["speedup"] for r in records}


def looped(trace) -> dict[tuple, float]:
    return {
        (name, "oracle" if k is None else f"fixed:{k}", size): speedup(
            trace, H100_LLAMA31_8B, Proposer(name, k, "published", match=0.8), size
        )
        for name in PROPOSERS
        for k in KS
        for size in SIZES
    }


def seconds(function, *arguments) -> float:
    start = time.process_time()  # of this process: other load on the machine does not count
    function(*arguments)
    return time.process_time() - start


def simulation(path: Path) -> None:
    """Full work of one dataset: fixed 1/3/5 and oracle, two proposers, six sizes, 300 requests."""
    whole = open_trace(path)
    drawn = random.Random(42).sample(whole.requests, 300)
    part = replace(whole, requests=tuple(drawn[:SHARE]))
    steps = sum(len(r.output_ids) for r in drawn) / sum(len(r.output_ids) for r in part.requests)
    loop_s = seconds(looped, part) * steps
    simulated(whole)  # first use of numpy's functions
    ours_s = min(seconds(simulated, whole) for _ in range(3))
    reading_s = seconds(open_trace, path)
    print(
        f"simulation: loop {loop_s:.1f} s (from {SHARE} requests), ours {ours_s:.3f} s: "
        f"{loop_s / ours_s:.0f} times; reading the trace {reading_s:.2f} s"
    )


def replaying(path: Path) -> None:
    """Positions a minute through vLLM's n-gram code, after its compilation."""
    whole, proposer = open_trace(path), NgramProposer(3, 7, 20)
    method = Method("ngram", 20, 3, 7)
    replay(Trace("warm", whole.path, whole.requests[:1]), method, proposer)
    start = time.perf_counter()
    positions = record_of(replay(whole, method, proposer))["positions"]
    a_minute = 60 * positions / (time.perf_counter() - start)
    print(f"replay: {a_minute / 1e6:.1f} million positions a minute")


if __name__ == "__main__":
    simulation(Path(sys.argv[1]))
    replaying(Path(sys.argv[1]))
