"""Where a step's time goes, and what an engine holds in memory; shown where it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from draftgate.measure.record import Block
from draftgate.measure.stages import STAGES
from draftgate.reporting.report.panel import Bars, Panel, Record, Table, counted, span
from draftgate.reporting.report.select import place, target, variant

_MIB = 1 << 20
_KIB = 1 << 10


def stage_panels(found: Sequence[Block]) -> Iterator[Panel]:
    """Panels of what the engines reported beside tokens; none where they did not."""
    if records := _stages(found):
        steps = [record["n"] for record in records]
        rounds = [record["rounds"] for record in records]
        yield Panel(
            key="stages",
            title="Stage breakdown of a step",
            unit="percent of the step time, prefill steps included",
            n=f"{span(rounds, 'round')} a cell with the stage timer on, {span(steps, 'step')}",
            noise=_worst_noise(records),
            chart=Bars("variant_batch", "value", "stage", "place", stacked=True),
            columns={
                "place": "target · workload",
                "variant_batch": "variant, batch size",
                "stage": "stage",
                "value": "%",
                "noise": "± points",
                "milliseconds": "ms a decode step",
                "n": "steps",
            },
            records=records,
            remark="verify: the target's forward, standard decoding's only one; overhead: what "
            "none of the others is. A decode step has no prompt in it.",
        )
    if memory := _memory(found):
        yield Panel(
            key="memory",
            title="Memory of an engine",
            unit="MiB, and KiB of KV cache a token",
            n=f"one reading an engine, {counted(len(memory), 'engine')}",
            noise="none: sizes of allocated tensors are exact; "
            "resident memory was read once, its noise is not known",
            chart=Table(),
            columns={
                "target": "target",
                "variant": "variant",
                "weights": "weights, MiB",
                "cache": "KV cache, MiB",
                "per_token": "KV cache, KiB a token",
                "rss": "resident, MiB",
                "device": "device, MiB",
            },
            records=memory,
        )


def _stages(found: Sequence[Block]) -> list[Record]:
    return [
        {
            "place": place(block),
            "variant_batch": f"{variant(block)}, bs{block.subject.batch_size}",
            "stage": stage,
            "value": 100 * block.stages.shares.get(stage, 0.0),
            "noise": 50 * (max(by_round) - min(by_round)) if len(by_round) > 1 else None,
            "rounds": len(by_round),
            "milliseconds": decode and getattr(decode, f"{stage}_ms"),
            "n": len(block.stages.steps.step_ms),
        }
        for block in found
        if block.stages is not None
        for decode in [block.stages.classes.get("decode")]
        for stage in STAGES
        for by_round in [block.stages.shares_by_round(stage)]
    ]


def _worst_noise(records: Sequence[Record]) -> str:
    known = [record["noise"] for record in records if record["noise"] is not None]
    if not known:
        return "unknown: one round a cell"
    worst = f"at most {max(known):.1f} percentage points"
    return f"half the range of the rounds' shares, {worst} (each in the table, ±)"


def _mib(size: int | None) -> float | None:
    return None if size is None else size / _MIB


def _memory(found: Sequence[Block]) -> list[Record]:
    engines = {block.subject.scenario: block for block in found if block.memory is not None}
    return [
        {
            "target": target(block),
            "variant": variant(block),
            "weights": _mib(memory.weight_bytes),
            "cache": _mib(memory.kv_cache_bytes),
            "per_token": memory.kv_bytes_per_token / _KIB,
            "rss": _mib(memory.rss_bytes),
            "device": _mib(memory.device_bytes),
        }
        for block in engines.values()
        if (memory := block.memory) is not None
    ]
