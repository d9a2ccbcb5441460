"""Measurements, verdicts and rows to report."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fake_engines import Script, play

from draftgate.engine.protocol import RoundPrompt, RoundRequest
from draftgate.measure.record import Machine, Measurement, Provenance, Subject
from draftgate.reporting.rows import Row
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.verdict import Verdict

START = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
REQUEST = RoundRequest(
    prompts=tuple(RoundPrompt(prompt_id=f"p{i}", text=f"text {i}") for i in range(3)),
    batch_size=2,
    max_tokens=64,
)
K = 3


def measurement(cell: str, timed: bool = True) -> Measurement:
    """A cell of an arm with k=3, twice as slow in its second round, as its control was."""
    arm, control = Script(), Script()
    slow = Script(slower=2.0)
    return Measurement.build(
        Subject(
            cell=cell,
            scenario=cell.rpartition("/")[0],
            workload="gsm8k",
            workload_hash="ab" * 32,
            batch_size=2,
            k=K,
            model_id="testbed:llama-tiny",
        ),
        [play(REQUEST, K, arm), play(REQUEST, K, slow)],
        [play(REQUEST, 0, control), play(REQUEST, 0, slow)],
        machine=Machine(key="box", isa_class="x86-avx2-fp32"),
        provenance=Provenance(vllm="0.32.0", torch="2.13.0", draftgate="0.1.0", python="3.11"),
        started=START,
        ended=START,
        timed=timed,
    )


def verdict(cell: str, kind: VerdictKind) -> Verdict:
    """A verdict on some metric."""
    return Verdict(cell, "speedup", kind)


def row(cell: str, kind: VerdictKind, **changes: Any) -> Row:
    """A row with all numbers."""
    numbers = {
        "output_throughput": 1234.4,
        "speedup": 1.5,
        "speedup_noise": 0.0,
        "acceptance_length": 2.5,
        "tokens_per_step": 2.25,
    }
    return Row(cell=cell, verdict=kind, **{**numbers, **changes})
