"""`draftgate simulate`: what a policy would gain on recorded acceptance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
        list[Path], typer.Argument(metavar="TRACE...", help="Trace files, or cells of a run.")
    ],
    proposer: Annotated[
        str,
        typer.Option(metavar="NAME,...", help="ngram, eagle3, or combine: the better of the two."),
    ] = "ngram,eagle3",
    policy: Annotated[
        str,
        typer.Option(
            metavar="POLICY,...",
            help="fixed:K, oracle, adaptive, threshold:RATE[:K], dynamic:UPTO=K:UPTO=K...",
        ),
    ] = "fixed:1,fixed:3,fixed:5,oracle",
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
    over that of standard decoding under the cost model. The defaults are the paper's setup.

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
    """
    from draftgate.analysis.cost_models import load_cost_model
    from draftgate.analysis.lists import counts, words
    from draftgate.analysis.open_trace import open_trace
    from draftgate.analysis.policies import parse_policy
    from draftgate.analysis.simulate import Setup
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
    records = []
    for path in trace:
        opened = open_trace(path)
        policies = [parse_policy(word, opened.cap) for word in words("--policy", policy)]
        for name in words("--proposer", proposer):
            records += run(opened, name, policies, setup)
    emit(records, _COLUMNS, output)
