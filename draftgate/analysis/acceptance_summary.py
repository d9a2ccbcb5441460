"""One flat record for each variant on each workload: what its acceptance is like."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from draftgate.analysis.across_requests import autocorrelation, burstiness, spread
from draftgate.analysis.errors import TraceError
from draftgate.analysis.rates import acceptance_length, length_matched
from draftgate.analysis.steps import Steps, measured_steps, trace_steps
from draftgate.analysis.traces import Trace
from draftgate.measure.record import Measurement


def cell_summaries(cells: Iterable[Measurement]) -> Iterator[dict[str, Any]]:
    """Of each cell that drafts, from the steps that its engine took."""
    for block in (cell.draftgate for cell in cells):
        if k := block.subject.k:
            steps = measured_steps(block.rounds[0])
            yield _summary(block.subject.cell, block.subject.variant, steps, k + 1)


def matched_summaries(
    cells: Iterable[Measurement], others: Iterable[Measurement]
) -> Iterator[dict[str, Any]]:
    """Of each cell that drafts and that ``others`` have, over the stretch of output that both have.

    `rates.length_matched` says why. ``half_width``: as in `cell_summaries`.
    """
    beside = {other.draftgate.subject.cell: other.draftgate.rounds[0] for other in others}
    for block in (cell.draftgate for cell in cells):
        other = beside.get(block.subject.cell)
        if other is None or not block.subject.k:
            continue
        found = length_matched(measured_steps(block.rounds[0]), measured_steps(other))
        if found is not None:
            yield {
                "source": block.subject.cell,
                "variant": block.subject.variant,
                "prompts": found.prompts,
                "tokens": found.tokens,
                "acceptance_length": _rounded(found.first.value),
                "half_width": _rounded(found.first.half_width),
                "against": _rounded(found.second.value),
                "against_half_width": _rounded(found.second.half_width),
            }


def trace_summaries(trace: Trace) -> Iterator[dict[str, Any]]:
    """Of each proposer that a trace holds; raises TraceError where it holds none."""
    proposers = sorted({name for request in trace.requests for name in request.acceptance})
    if not proposers:
        raise TraceError(f"{trace.path}: holds no acceptance; give a cell or trace that drafts")
    for proposer in proposers:
        yield _summary(trace.name, proposer, trace_steps(trace, proposer), trace.cap + 1)


def _summary(source: str, variant: str, steps: Sequence[Steps], full: int) -> dict[str, Any]:
    """``half_width``: of the acceptance length's 95 % interval, requests as clusters."""
    length, found, correlation = acceptance_length(steps), spread(steps), autocorrelation(steps)
    return {
        "source": source,
        "variant": variant,
        "requests": len(steps),
        "steps": sum(len(request.emitted) for request in steps),
        "acceptance_length": _rounded(length.value if length else None),
        "half_width": _rounded(length.half_width if length else None),
        "per_request_median": _rounded(found.median if found else None),
        "per_request_std": _rounded(found.std if found else None),
        "autocorrelation": _rounded(correlation.value if correlation else None),
        "autocorrelation_noise": _rounded(correlation.noise if correlation else None),
        "burst_length": _rounded(burstiness(steps, full)),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
