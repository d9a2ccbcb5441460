"""What variants have in common, and when copying from the prompt pays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from draftgate.analysis.complementarity import Shared, difference, shared
from draftgate.analysis.overlap import overlap_against_gain, rank_correlation
from draftgate.analysis.steps import measured_steps
from draftgate.measure.record import Block
from draftgate.reporting.report.panel import (
    MOST_LINES,
    Heat,
    Panel,
    Points,
    Record,
    counted,
    span,
    thinned,
)
from draftgate.reporting.report.select import (
    best,
    by_place,
    drafting,
    method,
    place,
    target,
    variant,
)

BINS = 20


def complement_panels(found: Sequence[Block]) -> Iterator[Panel]:
    """Panels of workloads with two variants or more, of which one is n-gram for the last two."""
    groups = [(name, group) for name, group in by_place(drafting(found)) if len(group) > 1]
    if records := list(chain.from_iterable(_shared(name, group) for name, group in groups)):
        yield Panel(
            key="overlap",
            title="Overlap matrix: do variants draft the same tokens?",
            unit="percent: output tokens that both drafted / that at least one did",
            n=span([r["tokens"] for r in records if r["tokens"]], "output token")
            + " of "
            + span([r["requests"] for r in records if r["requests"]], "request")
            + " a workload",
            noise="none: a count over the outputs that both variants wrote alike",
            chart=Heat("second", "first", "value", "place", written=True),
            columns={
                "place": "target · workload",
                "first": "variant",
                "second": "variant",
                "value": "% both / either",
                "only": "% by the first alone",
                "tokens": "output tokens",
            },
            records=records,
            remark="A small overlap is room for a combination of the two, "
            "unless one of them hardly drafts.",
        )
    pairs = [pair for _, group in groups if (pair := _ngram_and_best(group))]
    if records := list(chain.from_iterable(_difference(*pair) for pair in pairs)):
        yield Panel(
            key="difference",
            title="n-gram against the variant with the most tokens per step, by request and place",
            unit="tokens per step more (blue: n-gram better) or fewer (red); grey: no step",
            n=span([len(pair[0].rounds[0].requests) for pair in pairs], "request")
            + f" a workload, at most {MOST_LINES} of them drawn",
            noise="none shown: every cell is a difference of two means of few steps",
            chart=Heat("share", "request", "value", "facet", signed=True),
            columns={
                "facet": "target · workload · variants",
                "request": "request",
                "share": "of the output, from",
                "value": "difference",
            },
            records=records,
        )
    yield from _overlap_and_gain(pairs)


def _shared(name: str, group: Sequence[Block]) -> Iterator[Record]:
    variants = {variant(block): block.rounds[0] for block in group}
    pairs = {(pair.first, pair.second): pair for pair in shared(variants)}
    for first in variants:
        for second in variants:
            pair = pairs.get((first, second)) or pairs.get((second, first))
            compared = dict.fromkeys(("value", "only", "tokens", "requests"))
            yield {
                "place": name,
                "first": first,
                "second": second,
                **(_compared(pair, first) if pair else compared),
            }


def _compared(pair: Shared, first: str) -> Record:
    """The pair as seen from ``first``; None where nothing can be divided by."""
    tokens = pair.both + pair.first_only + pair.second_only + pair.neither
    alone = pair.first_only if pair.first == first else pair.second_only
    return {
        "value": None if pair.overlap is None else 100 * pair.overlap,
        "only": 100 * alone / tokens if tokens else None,
        "tokens": tokens,
        "requests": pair.requests,
    }


def _ngram_and_best(group: Sequence[Block]) -> tuple[Block, Block] | None:
    """The best cells of n-gram and of the other methods."""
    ngram = best([block for block in group if method(block) == "ngram"])
    other = best([block for block in group if method(block) != "ngram"])
    return (ngram, other) if ngram and other else None


def _difference(ngram: Block, other: Block) -> Iterator[Record]:
    shown = thinned(measured_steps(ngram.rounds[0]))
    found = difference(shown, measured_steps(other.rounds[0]), BINS)
    for request, row in zip(found.request_ids, found.gain, strict=True):
        for column, value in enumerate(row):
            yield {
                "facet": f"{place(ngram)} · {variant(ngram)} - {variant(other)}",
                "request": request,
                "share": f"{100 * column // BINS} %",
                "value": None if value != value else float(value),
            }


def _overlap_and_gain(pairs: Sequence[tuple[Block, Block]]) -> Iterator[Panel]:
    points = [
        (ngram, other, overlap_against_gain(ngram.rounds[0], other.rounds[0]))
        for ngram, other in pairs
    ]
    records = [
        {
            "target": target(ngram),
            "workload": ngram.subject.workload,
            "other": variant(other),
            "request": point.request_id,
            "bleu4": point.bleu4,
            "value": point.gain,
        }
        for ngram, other, found in points
        for point in found
    ]
    if records:
        correlation = rank_correlation([point for *_, found in points for point in found])
        said = (
            f"none shown: a point is one request. Spearman's rank correlation over all of them is "
            f"{correlation.rho:.2f}; requests of one workload are alike, so no p is given"
            if correlation
            else ""
        )
        yield Panel(
            key="bleu",
            title="Prompt-output overlap against n-gram's gain",
            unit="n-gram's tokens per step / the other variant's; BLEU-4 from 0 to 100",
            n=counted(len(records), "request"),
            noise=said or "none: too few requests for a correlation",
            chart=Points("bleu4", "value", "workload", "target", 1.0),
            columns={
                "target": "target",
                "workload": "workload",
                "other": "the other variant",
                "request": "request",
                "bleu4": "BLEU-4",
                "value": "relative gain",
            },
            records=records,
            remark=(
                "BLEU-4 of the output against its prompt over token ids, without brevity penalty; "
                "the other variant is the best of the workload."
            ),
        )
