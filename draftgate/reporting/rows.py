"""One row a cell: what a report's table says of it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from draftgate.measure.record import Measurement
from draftgate.verdict.cause import signed_percent
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.line import interval_and_limit, spelled
from draftgate.verdict.verdict import Verdict

SEVERITY = tuple(VerdictKind)


@dataclass(frozen=True)
class Row:
    """A cell's numbers, its worst verdict and why; a number is None where there is none.

    ``speedup_noise``: half the range of the rounds' speed-ups, relative; unknown of one round.
    ``detectable``: the smallest loss that every timed verdict of the cell would have found
    (`verdict.sensitivity`).
    """

    cell: str
    output_throughput: float | None
    speedup: float | None
    speedup_noise: float | None
    acceptance_length: float | None
    tokens_per_step: float | None
    verdict: VerdictKind | None
    detectable: float | None = None
    reason: str = ""


def rows(measurements: Iterable[Measurement], verdicts: Iterable[Verdict]) -> list[Row]:
    """Rows, the worst first, then in the order measured; cells that failed to run are there too.

    Cells that nobody judged come last.
    """
    by_cell: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        by_cell.setdefault(verdict.cell, []).append(verdict)
    measured = {m.draftgate.subject.cell: m for m in measurements}
    found = [_row(c, measured.get(c), by_cell.get(c, [])) for c in {**measured, **by_cell}]
    return sorted(found, key=_severity)


def _severity(row: Row) -> int:
    return SEVERITY.index(row.verdict) if row.verdict else len(SEVERITY)


def worst(verdicts: Sequence[Verdict]) -> Verdict | None:
    """The most severe verdict, in `VerdictKind`'s order; None of none."""
    return min(verdicts, key=lambda v: SEVERITY.index(v.verdict), default=None)


def _row(cell: str, measurement: Measurement | None, verdicts: Sequence[Verdict]) -> Row:
    bad = worst(verdicts)
    kind = bad.verdict if bad else None
    if measurement is None:
        return Row(cell, None, None, None, None, None, kind, reason=reason_of(bad))
    block = measurement.draftgate
    speedups = block.timed.get("speedup", ())
    return Row(
        cell,
        _median(block.timed.get("output_throughput", ())),
        _median(speedups),
        _half_range(speedups),
        block.acceptance.acceptance_length,
        block.acceptance.tokens_per_step,
        kind,
        max((v.sensitivity.detectable for v in verdicts if v.sensitivity), default=None),
        reason_of(bad),
    )


def reason_of(verdict: Verdict | None) -> str:
    """Such as ``speedup +1.4 % (95 % CI -19.5..+27.7, limit -10 %)``; empty where all is well."""
    if verdict is None or verdict.verdict is VerdictKind.OK:
        return ""
    if verdict.verdict is VerdictKind.UNBASELINED:
        return f"no baseline of {verdict.metric}"
    interval, limit = interval_and_limit(verdict)
    if verdict.ratio is None or not interval:
        said = verdict.evidence or verdict.cause
        if not said and verdict.baseline is not None:
            said = f"{spelled(verdict.baseline)} -> {spelled(verdict.value)}"
        return f"{verdict.metric} {said}".strip()
    details = ", ".join(filter(None, (interval, limit)))
    return f"{verdict.metric} {signed_percent(verdict.ratio)} ({details})"


def _half_range(values: Sequence[float]) -> float | None:
    """Relative to the median."""
    if len(values) < 2:
        return None
    return (max(values) - min(values)) / 2 / statistics.median(values)


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None
