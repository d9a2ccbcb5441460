"""Speed-up and throughput of the timed cells."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from draftgate.measure.record import Block
from draftgate.reporting.report.panel import Bars, Lines, Panel, Record, span
from draftgate.reporting.report.select import place, variant

_NOISE = "whiskers: from the worst round to the best; the point is the median"


def speed_panels(found: Sequence[Block]) -> Iterator[Panel]:
    """Panels of timed cells; none where nothing was timed."""
    if records := _records(found, "speedup"):
        yield Panel(
            key="speedup",
            title="Speed-up over standard decoding, by batch size",
            unit="times the control's output tokens per second",
            n=_rounds(records),
            noise=_NOISE,
            chart=Lines("batch_size", "value", "variant", "place", True, True, 1.0),
            columns=_columns("speed-up"),
            records=records,
            remark="Each round is divided by the control's round that was timed next to it. The "
            "control's own cell was timed at another moment, so that the quotient of two "
            "throughputs below need not be the speed-up.",
        )
    if records := _records(found, "output_throughput"):
        yield Panel(
            key="throughput",
            title="Output throughput",
            unit="generated tokens per second",
            n=_rounds(records),
            noise=_NOISE,
            chart=Bars("batch", "value", "variant", "place", True),
            columns=_columns("tokens/s"),
            records=records,
        )


def _records(found: Sequence[Block], metric: str) -> list[Record]:
    return [
        {
            "place": place(block),
            "batch": f"batch {block.subject.batch_size}",
            "batch_size": block.subject.batch_size,
            "variant": variant(block),
            "value": statistics.median(samples),
            "low": min(samples),
            "high": max(samples),
            "n": len(samples),
        }
        for block in found
        if (samples := block.timed.get(metric))
    ]


def _columns(value: str) -> dict[str, str]:
    return {
        "place": "target · workload",
        "batch_size": "batch size",
        "variant": "variant",
        "value": value,
        "low": "lowest",
        "high": "highest",
        "n": "rounds",
    }


def _rounds(records: Sequence[Record]) -> str:
    return span([record["n"] for record in records], "round") + " a cell"
