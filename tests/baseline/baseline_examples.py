"""Example candidates, as a session would offer them."""

from __future__ import annotations

from draftgate.baseline.candidate import Candidate
from draftgate.baseline.schema import Provenance
from draftgate.baseline.update import UpdatePolicy, UpdateRequest
from draftgate.measure.exact import ExactMetrics

SCENARIO = "llama-tiny/eagle3-k3"
CELL = f"{SCENARIO}/gsm8k/bs8"
OTHER = f"{SCENARIO}/aime/bs1"
ISA = "x86-avx2-fp32"
BOX = "xeon-2c"
HASH = "ab" * 32

PROVENANCE = Provenance(
    commit="1234abc", date="2026-07-01", vllm="0.32.0", torch="2.13.0", reason="first"
)

COUNTS = ExactMetrics(
    outputs_hash="cd" * 32,
    output_tokens=1900,
    decode_tokens=1890,
    decode_steps=700,
    num_drafts=660,
    draft_tokens=1980,
    accepted_tokens=1234,
    accepted_per_position=(600, 400, 234),
)


def exact(cell=CELL, workload_hash=HASH, broken=(), problem=None, **changes) -> Candidate:
    metrics = COUNTS.model_copy(update=changes)
    return Candidate.exact(cell, ISA, workload_hash, metrics, broken=broken, problem=problem)


def timed(cell=CELL, factor=1.0, workload_hash=HASH, limits=None) -> Candidate:
    samples = {
        "output_throughput": [[100.0 * factor, 101.23456 * factor, 99.0 * factor]],
        "step_time_ms": [[12.0 / factor, 12.5 / factor, 11.9 / factor]],
    }
    chosen = {"output_throughput": 0.1, "step_time_ms": 0.1} if limits is None else limits
    return Candidate.timed(cell, BOX, workload_hash, samples, limits=chosen)


def request(policy="all", **changes) -> UpdateRequest:
    return UpdateRequest(UpdatePolicy(policy), PROVENANCE, **changes)
