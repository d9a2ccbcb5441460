"""`draftgate tree`: what draft trees would gain over chains."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from draftgate.cli.output import Column, Format, FormatOption, emit

_COLUMNS = (
    Column("trace"),
    Column("head"),
    Column("tree"),
    Column("nodes", numeric=True),
    Column("depth", numeric=True),
    Column("batch_size", numeric=True),
    Column("tokens_per_step", numeric=True),
    Column("speedup", numeric=True),
)


def tree(
    ranks: Annotated[
        list[Path], typer.Argument(metavar="RANKS...", help="Recordings of a head's ranks.")
    ],
    trees: Annotated[
        str,
        typer.Option(metavar="TREE,...", help="chain:K, full:WIDTHxWIDTH..., best:NODES."),
    ] = "chain:3,best:6,best:21",
    batch_sizes: Annotated[str, typer.Option(metavar="N,...", help="Batch sizes.")] = "1,16,64,128",
    cost_model: Annotated[
        str, typer.Option(metavar="NAME|PATH", help="A built-in cost model or a JSON file.")
    ] = "h100-llama3.1-8b",
    output: FormatOption = Format.TABLE,
) -> None:
    """Simulate draft trees over recorded outputs; vLLM itself verifies chains only.

    A recording is JSONL of {id, head, top, prompt_tokens, ranks}: for every output position and
    draft step, the rank that the head gave to the token that came (-1: not among its top). The
    testbed's heads are recorded by benchmarks/draft_ranks.py.

    A record is {trace, head, tree, nodes, depth, batch_size, tokens_per_step, speedup}: the tree's
    acceptance priced by the cost model, which verifies all nodes and drafts once a level. best:N is
    the best tree of N nodes for this very recording, a bound for trees of fixed shape.

    \b
    Examples:
      draftgate tree ranks.jsonl
      draftgate tree ranks.jsonl --trees chain:5,full:4x2x2,best:16 --batch-sizes 1,8 --format csv
    """
    from draftgate.analysis.cost_models import load_cost_model
    from draftgate.analysis.draft_ranks import read_ranks
    from draftgate.analysis.lists import counts, words
    from draftgate.analysis.tree import parse_tree
    from draftgate.analysis.tree_cost import tree_records

    cost, sizes = load_cost_model(cost_model), counts("--batch-sizes", batch_sizes)
    records = []
    for path in ranks:
        recorded = read_ranks(path)
        for word in words("--trees", trees):
            records += tree_records(recorded, parse_tree(word, recorded), cost, sizes)
    emit(records, _COLUMNS, output)
