"""A measured cell as a results folder keeps it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fake_engines import Script, play

from draftgate.engine.protocol import RoundPrompt, RoundRequest
from draftgate.measure.record import Machine, Measurement, Provenance, Subject

NOW = datetime(2026, 1, 1, tzinfo=UTC)
REQUEST = RoundRequest(
    prompts=tuple(RoundPrompt(prompt_id=f"p{i}", text=f"text {i}") for i in range(8)),
    batch_size=2,
    max_tokens=64,
)
K = 3


def measurement(
    cell: str, script: Script | None = None, rounds: int = 4, **changes: Any
) -> Measurement:
    """An arm with k=3 beside its control; ``changes``: workload_hash, machine, isa."""
    script = script or Script()
    return Measurement.build(
        Subject(
            cell=cell,
            scenario="/".join(cell.split("/")[:2]),
            workload=cell.split("/")[2],
            workload_hash=changes.get("workload_hash", "ab" * 32),
            batch_size=REQUEST.batch_size,
            k=K,
            model_id="m",
        ),
        [play(REQUEST, K, script, 1 + 0.001 * i) for i in range(rounds)],
        [play(REQUEST, 0, Script()) for _ in range(rounds)],
        machine=Machine(
            key=changes.get("machine", "box"), isa_class=changes.get("isa", "x86-avx2-fp32")
        ),
        provenance=Provenance(vllm="0", torch="0", draftgate="0", python="3"),
        started=NOW,
        ended=NOW,
    )
