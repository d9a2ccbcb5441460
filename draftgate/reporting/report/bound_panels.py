"""The distance to the bound: oracle gap and combination, simulated on the run's own records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from draftgate.analysis.accounting import COMBINED
from draftgate.analysis.cost import CostModel
from draftgate.analysis.recorded_bound import combined_bounds, recorded_bounds
from draftgate.analysis.simulate import Setup
from draftgate.measure.record import Block
from draftgate.reporting.clean import clean
from draftgate.reporting.report.panel import Lines, Panel, Record, span
from draftgate.reporting.report.select import best, by_place, drafting, method, place, variant

BATCH_SIZES = (1, 4, 16, 64)  # as far as there are requests to fill them
_NOISE = "not shown: that of other prompts than these, and the cost model's error"


def bound_panels(found: Sequence[Block], cost: CostModel) -> Iterator[Panel]:
    """Panels of the proposers that ``cost`` has a draft cost for."""
    cells = drafting(found)
    setup = Setup(cost=cost, batch_sizes=BATCH_SIZES)
    priced = [block for block in cells if method(block) in cost.drafts]
    left_out = sorted({method(block) for block in cells} - cost.drafts.keys())
    records = [record for block in priced for record in _gap(block, setup)]
    if records:
        yield _panel(
            "oracle",
            "Oracle gap: the recorded k against drafting exactly what is accepted",
            priced,
            records,
            cost,
            f"Left out, as the model has no draft cost for them: {', '.join(map(clean, left_out))}."
            if left_out
            else "",
        )
    combined = [record for _, group in by_place(priced) for record in _combine(group, setup)]
    if combined:
        yield _panel(
            "combine",
            "Combination: n-gram or EAGLE-3 at every step, whichever is accepted longer",
            [block for block in priced if method(block) in ("ngram", "eagle3")],
            combined,
            cost,
            "published: n-gram's cost whoever drafts; winner: the cost of the one taken; both: "
            "both costs at every step. What is accepted longer need not be what is cheaper: a "
            "combination may lie below one of its parts. Of each the variant with most tokens per "
            "step is taken; targets without both are not shown.",
        )


def _filled(setup: Setup, *cells: Block) -> Setup:
    """Without the batch sizes that the cells' requests cannot fill."""
    requests = min(len(block.rounds[0].requests) for block in cells)
    sizes = tuple(size for size in setup.batch_sizes if size <= requests)
    return replace(setup, batch_sizes=sizes)


def _gap(block: Block, setup: Setup) -> Iterator[Record]:
    for record in recorded_bounds(block, method(block), _filled(setup, block)):
        yield {
            **record,
            "place": place(block),
            "how": record["policy"],
            "series": f"{variant(block)} {record['policy']}",
        }


def _combine(group: Sequence[Block], setup: Setup) -> Iterator[Record]:
    first, second = (best([b for b in group if method(b) == name]) for name in COMBINED)
    if first is None or second is None:
        return
    for block in (first, second):
        yield from (r for r in _gap(block, setup) if r["policy"] == "oracle")
    for record in combined_bounds(first, second, _filled(setup, first, second)):
        how = record["accounting"]
        series = f"{variant(first)} or {variant(second)}, {how}"
        yield {**record, "place": place(first), "how": how, "series": series}


def _panel(
    key: str,
    title: str,
    cells: Sequence[Block],
    records: Sequence[Record],
    cost: CostModel,
    remark: str,
) -> Panel:
    requests = [len(block.rounds[0].requests) for block in cells]
    return Panel(
        key=key,
        title=title,
        unit=f"times standard decoding's throughput, simulated with cost model {cost.name}",
        n=span(requests, "recorded request") + " a cell",
        noise=_NOISE,
        chart=Lines(
            *("batch_size", "speedup", "series", "place"),
            log_x=True,
            reference=1.0,
            hue="proposer",
            dash="how",
        ),
        columns={
            "place": "target · workload",
            "series": "proposer and policy",
            "batch_size": "batch size",
            "speedup": "simulated speed-up",
        },
        records=records,
        remark=(
            "The oracle drafts what will be accepted, up to the recorded k; between recorded "
            "steps acceptance is a lower bound. Batches are no larger than the requests fill; one "
            "lasts as long as its longest request, whose acceptance may be another than the mean. "
            "Times are the cost model's, not this machine's. "
            f"{remark}"
        ).strip(),
    )
