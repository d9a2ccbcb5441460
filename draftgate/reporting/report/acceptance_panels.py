"""Acceptance across workloads, across requests, within a request and by draft position."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from draftgate.analysis.across_requests import autocorrelation, burstiness, per_request
from draftgate.analysis.rates import acceptance_length, position_rates
from draftgate.analysis.steps import Steps, measured_steps
from draftgate.analysis.within_request import by_relative_position, heat_map
from draftgate.measure.record import Block
from draftgate.reporting.report.panel import (
    MOST_LINES,
    Bars,
    Boxes,
    Heat,
    Lines,
    Panel,
    Record,
    Table,
    interval,
    span,
    thinned,
)
from draftgate.reporting.report.select import drafting, place, target, variant

BINS = 10
_CLUSTERED = "95 % confidence interval, requests as clusters"
_PLACE = {"place": "target · workload", "variant": "variant"}

Cells = Sequence[tuple[Block, Sequence[Steps]]]


def acceptance_panels(found: Sequence[Block]) -> Iterator[Panel]:
    """Panels of the cells that draft; none where none does."""
    cells = [(block, measured_steps(block.rounds[0])) for block in drafting(found)]
    panels: list[Callable[[Cells], Panel]] = [
        _lengths,
        _per_request,
        _positions,
        _along,
        _heat,
        _bursts,
    ]
    for make in panels:
        panel = make(cells)
        if panel.records:
            yield panel


def _lengths(cells: Cells) -> Panel:
    records = [
        {
            "target": target(block),
            "workload": block.subject.workload,
            "variant": variant(block),
            "value": length.value,
            **interval(length.value, length.half_width, 1, block.subject.k + 1),
            "n": length.requests,
        }
        for block, steps in cells
        if (length := acceptance_length(steps))
    ]
    return Panel(
        key="acceptance_length",
        title="Acceptance length, across workloads",
        unit="tokens per verification, bonus token included",
        n=_requests(cells),
        noise=f"whiskers: {_CLUSTERED}",
        chart=Bars("workload", "value", "variant", "target", True, reference=1.0),
        columns={
            "target": "target",
            "workload": "workload",
            "variant": "variant",
            "value": "acceptance length",
            "low": "95 % from",
            "high": "to",
            "n": "requests",
        },
        records=records,
    )


def _per_request(cells: Cells) -> Panel:
    records = [
        {**_names(block), "request": request, "value": value}
        for block, steps in cells
        for request, value in per_request(steps).items()
    ]
    return Panel(
        key="per_request",
        title="Tokens per step, across requests",
        unit="tokens per decode step of a request, steps without drafts included",
        n=_requests(cells),
        noise="box: quartiles over requests; whiskers: 1.5 interquartile ranges; dots beyond",
        chart=Boxes("variant", "value", "place"),
        columns={**_PLACE, "request": "request", "value": "tokens per step"},
        records=records,
    )


def _positions(cells: Cells) -> Panel:
    records: list[Record] = [
        {
            **_names(block),
            "position": rate.position + 1,
            "value": rate.marginal.value,
            **interval(rate.marginal.value, rate.marginal.half_width, 0, 1),
            "conditional": rate.conditional and rate.conditional.value,
            "n": rate.marginal.count,
        }
        for block, steps in cells
        for rate in position_rates(steps, block.subject.k)
    ]
    return Panel(
        key="positions",
        title="Acceptance rate by draft position",
        unit="share of all drafts whose token at this position was accepted (marginal)",
        n=span([record["n"] for record in records], "draft") + f", {_requests(cells)}",
        noise=f"whiskers: {_CLUSTERED}",
        chart=Lines("position", "value", "variant", "place", True, same_y=True),
        columns={
            **_PLACE,
            "position": "position",
            "value": "marginal",
            "low": "95 % from",
            "high": "to",
            "conditional": "conditional",
            "n": "drafts",
        },
        records=records,
        remark="Conditional (in the table): given that all positions before were accepted.",
    )


def _along(cells: Cells) -> Panel:
    records = [
        {
            **_names(block),
            "share": round(100 * (bin_.low + bin_.high) / 2),
            "value": bin_.tokens_per_step.value,
            **interval(
                *(bin_.tokens_per_step.value, bin_.tokens_per_step.half_width),
                *(1, block.subject.k + 1),
            ),
            "n": bin_.tokens_per_step.count,
        }
        for block, steps in cells
        for bin_ in by_relative_position(steps, BINS)
    ]
    return Panel(
        key="along",
        title="Tokens per step along the output, within a request",
        unit="tokens per decode step, by percent of the output generated",
        n=_requests(cells),
        noise=f"whiskers: {_CLUSTERED}",
        chart=Lines("share", "value", "variant", "place", True, same_y=True),
        columns={
            **_PLACE,
            "share": "% of output",
            "value": "tokens per step",
            "low": "95 % from",
            "high": "to",
            "n": "steps",
        },
        records=records,
    )


def _heat(cells: Cells) -> Panel:
    records = [
        {
            "facet": f"{place(block)} · {variant(block)}",
            "request": shown[row].request_id,
            "share": f"{100 * column // (2 * BINS)} %",
            "value": None if value != value else float(value),
        }
        for block, steps in cells
        for shown in [thinned(steps)]
        for row, values in enumerate(heat_map(shown, 2 * BINS))
        for column, value in enumerate(values)
    ]
    return Panel(
        key="heat",
        title="Tokens per step by request and place in its output",
        unit="tokens per decode step; grey: no step starts there",
        n=f"{_requests(cells)}, at most {MOST_LINES} of them drawn",
        noise="none shown: every cell is the mean of one request's few steps",
        chart=Heat("share", "request", "value", "facet"),
        columns={
            "facet": "target · workload · variant",
            "request": "request",
            "share": "of the output, from",
            "value": "tokens per step",
        },
        records=records,
    )


def _bursts(cells: Cells) -> Panel:
    records: list[Record] = [
        {
            **_names(block),
            "value": correlation.value,
            "noise": correlation.noise,
            "bursts": burstiness(steps, block.subject.k + 1),
            "n": correlation.pairs,
        }
        for block, steps in cells
        if (correlation := autocorrelation(steps))
    ]
    return Panel(
        key="bursts",
        title="Bursts: does a good step follow a good step?",
        unit="autocorrelation of tokens per step, lag 1 step, from -1 to 1",
        n=span([record["n"] for record in records], "pair") + f" of steps, {_requests(cells)}",
        noise="±: where 95 % of the values of steps without memory lie",
        chart=Table(),
        columns={
            **_PLACE,
            "value": "autocorrelation",
            "noise": "±",
            "bursts": "run length",
            "n": "pairs",
        },
        records=records,
        remark=(
            "Run length: of fully accepted steps, relative to the same steps in random order; "
            "above 1 they come in bursts."
        ),
    )


def _names(block: Block) -> dict[str, str]:
    return {"place": place(block), "variant": variant(block)}


def _requests(cells: Cells) -> str:
    """Acceptance is shown at one batch size a workload, see `select.drafting`."""
    sizes = sorted({block.subject.batch_size for block, _ in cells})
    batch = f"batch {' and '.join(map(str, sizes))}, the cells with most requests"
    return span([len(steps) for _, steps in cells], "request") + f" a cell ({batch})"
