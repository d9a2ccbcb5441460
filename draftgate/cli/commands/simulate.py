"""`draftgate simulate`: what a policy would gain on recorded acceptance."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from draftgate.analysis.choices import Accounting, Batches
from draftgate.cli.output import Column, Format, FormatOption, emit

_COLUMNS = (
    Column("trace"),
    Column("proposer"),
    Column("policy"),
    Column("accounting"),
    Column("batch_size", numeric=True),
    Column("speedup", numeric=True),
)


def simulate(
    trace: Annotated[
        list[Path],
        typer.Argument(metavar="TRACE...", help="Trace files, cells of a run, or its folder."),
    ],
    proposer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help="ngram, eagle3, ..., or combine: the better of these two; default: the trace's.",
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="POLICY,...",
            help="fixed:K, oracle, adaptive, threshold:RATE[:K], dynamic:UPTO=K:UPTO=K...; "
            "default: fixed at 1, 3 and 5 as far as the trace goes, and the oracle.",
        ),
    ] = None,
    accounting: Annotated[
        Accounting, typer.Option(help="Whose draft cost a combination pays.")
    ] = Accounting.PUBLISHED,
    batch_sizes: Annotated[
        str, typer.Option(metavar="N,...", help="Batch sizes.")
    ] = "1,8,16,32,64,128",
    batches: Annotated[
        Batches, typer.Option(help="Copies of one request, or continuous batching.")
    ] = Batches.REPLICATED,
    cost_model: Annotated[
        str, typer.Option(metavar="NAME|PATH", help="A built-in cost model or a JSON file.")
    ] = "h100-llama3.1-8b",
    switch_cost: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Paid when the proposer changes.")
    ] = 0.0,
    match_probability: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="How often n-gram drafts where nothing is accepted."),
    ] = None,
    requests: Annotated[int, typer.Option(min=1, help="Requests drawn from a longer trace.")] = 300,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of that draw and of n-gram's misses.")
    ] = 42,
    output: FormatOption = Format.TABLE,
) -> None:
    """Simulate drafting policies on recorded acceptance; nothing runs but arithmetic.

    A record is {trace, proposer, policy, accounting, batch_size, speedup}; speedup is throughput
    over that of standard decoding under the cost model. The defaults are the paper's setup. A cell
    of a run holds the acceptance of its own variant, at most at the k it was measured with.

    \b
    Accounting of a combination:
      published  n-gram's cost whoever drafts (the paper's)
      winner     the cost of the proposer that is taken
      both       both costs at every step

    \b
    Examples:
      draftgate simulate gsm8k.jsonl
      draftgate simulate *.jsonl --proposer combine --policy oracle --accounting both
      draftgate simulate gsm8k.jsonl --policy adaptive,dynamic:8=5:32=3:128=1 --batches ragged
      draftgate simulate gsm8k.jsonl --cost-model h100-llama3.1-8b-by-k --format csv
      draftgate simulate results/latest --cost-model fitted.json     # see draftgate fit-cost
    """
    from draftgate.analysis.cost_models import load_cost_model
    from draftgate.analysis.errors import TraceError
    from draftgate.analysis.lists import counts, words
    from draftgate.analysis.open_trace import open_trace, trace_paths
    from draftgate.analysis.policies import default_policies, parse_policy
    from draftgate.analysis.simulate import Setup, priced
    from draftgate.analysis.simulate import simulate as run

    setup = Setup(
        cost=load_cost_model(cost_model),
        accounting=accounting,
        batches=batches,
        batch_sizes=counts("--batch-sizes", batch_sizes),
        sample=requests,
        seed=seed,
        match_probability=match_probability,
        switch_s=switch_cost,
    )
    spelled = None if policy is None else words("--policy", policy)
    asked = None if proposer is None else words("--proposer", proposer)
    records: list[dict[str, Any]] = []
    left_out: Counter[str] = Counter()
    for path in trace_paths(trace):
        opened = open_trace(path)
        policies = (
            default_policies(opened.cap)
            if spelled is None
            else tuple(parse_policy(word, opened.cap) for word in spelled)
        )
        names = priced(opened, setup.cost) if asked is None else asked
        if asked and path not in trace:  # a run's folder: each cell holds one proposer, or none
            names = tuple(name for name in asked if name in opened.proposers)
        for name in names:
            records += run(opened, name, policies, setup)
        if not names:
            left_out["" if asked else ", ".join(opened.proposers)] += 1
    if drafting := {name: count for name, count in left_out.items() if name}:
        _tell(drafting, setup.cost.name)
    elif not records:
        raise TraceError("no trace holds such drafts, so there is nothing to simulate")
    emit(records, _COLUMNS, output)


def _tell(left_out: Mapping[str, int], cost_model: str) -> None:
    said = ", ".join(f"{name} (traces: {count})" for name, count in left_out.items())
    print(
        f"draftgate: left out, as {cost_model} has no draft cost of it: {said}; fit one with "
        "draftgate fit-cost, give it with --cost-model",
        file=sys.stderr,
    )
