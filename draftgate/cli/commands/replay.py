"""`draftgate replay`: a training-free proposer over recorded tokens."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from draftgate.cli.output import Column, Format, FormatOption, emit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftgate.analysis.replay import Replay
    from draftgate.analysis.simulate import Setup

_COLUMNS = (
    Column("trace"),
    Column("method"),
    Column("prompt_lookup_min", numeric=True),
    Column("prompt_lookup_max", numeric=True),
    Column("cap", numeric=True),
    Column("positions", numeric=True),
    Column("acceptance_length", numeric=True),
    Column("agreement", numeric=True),
)


def replay(
    trace: Annotated[
        list[Path],
        typer.Argument(
            metavar="TRACE...", help="Trace files, chat logs, cells of a run, or its folder."
        ),
    ],
    method: Annotated[str, typer.Option(metavar="NAME", help="ngram or suffix.")] = "ngram",
    prompt_lookup_min: Annotated[
        str, typer.Option(metavar="N,...", help="Smallest n-gram to look up.")
    ] = "3",
    prompt_lookup_max: Annotated[
        str, typer.Option(metavar="N,...", help="Largest n-gram to look up.")
    ] = "7",
    cap: Annotated[
        str, typer.Option(metavar="K,...", help="Most tokens drafted at a position: k.")
    ] = "20",
    tokenizer: Annotated[
        str | None,
        typer.Option(metavar="PATH|NAME", help="tokenizer.json, its folder or a hub name."),
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Batch size that decides the best.")] = 1,
    cost_model: Annotated[
        str, typer.Option(metavar="NAME|PATH", help="Cost model that decides the best.")
    ] = "h100-llama3.1-8b",
    output: FormatOption = Format.TABLE,
) -> None:
    """Replay n-gram (vLLM's own code) or suffix decoding on recorded tokens; no GPU, no model.

    A record is {trace, method, prompt_lookup_min, prompt_lookup_max, cap, positions,
    acceptance_length, agreement}: the mean number of tokens a step would emit over all positions,
    and the share of positions equal to the trace's own record. Lists are swept, and the setting
    with the largest simulated speedup is named (on stderr with json and csv).

    A chat log is JSONL of messages, conversations, or prompt and response, with --tokenizer.

    \b
    Examples:
      draftgate replay gsm8k.jsonl
      draftgate replay chats.jsonl --tokenizer ./llama --prompt-lookup-min 2,3 --cap 1,3,5,10
      draftgate replay instructcoder.jsonl --prompt-lookup-max 5,7 --cap 3,5 --batch-size 32
    """
    from draftgate.analysis.cost_models import load_cost_model
    from draftgate.analysis.lists import counts
    from draftgate.analysis.open_trace import open_trace, trace_paths
    from draftgate.analysis.replay import record_of
    from draftgate.analysis.simulate import Setup
    from draftgate.analysis.sweep import methods, sweep

    setup = Setup(cost=load_cost_model(cost_model), batch_sizes=(batch_size,))
    chosen = methods(
        method,
        counts("--prompt-lookup-min", prompt_lookup_min),
        counts("--prompt-lookup-max", prompt_lookup_max),
        counts("--cap", cap),
    )
    records, remarks = [], []
    for path in trace_paths(trace):
        opened = open_trace(path, tokenizer)
        if not opened.prompts_known:
            print(
                f"draftgate: {path} keeps no prompt tokens: matches in the prompt are missed, so "
                "the acceptance is a lower bound",
                file=sys.stderr,
            )
        replays = tuple(sweep(opened, chosen))
        records += [record_of(replayed) for replayed in replays]
        remarks.append(_best_line(replays, setup))
    emit(records, _COLUMNS, output)
    for remark in remarks:
        print(remark, file=sys.stdout if output is Format.TABLE else sys.stderr)


def _best_line(replays: Sequence[Replay], setup: Setup) -> str:
    from draftgate.analysis.replay import best, tokens_per_step

    winner, speedup = best(replays, setup)
    tokens = tokens_per_step(winner)
    if tokens is None:
        return f"{winner.trace.name}: every request ends with its first token, nothing to draft"
    return (
        f"{winner.trace.name}: best of {len(replays)} is {winner.method}, "
        f"{tokens:.2f} tokens per step, simulated speedup {speedup:.2f} "
        f"at batch {setup.batch_sizes[0]} on {setup.cost.name}"
    )
