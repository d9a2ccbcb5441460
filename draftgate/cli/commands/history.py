"""`draftgate history`: runs over time, and where they changed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from draftgate.cli.output import Column, Format, FormatOption, emit

history = typer.Typer(
    help="Runs over time: append them, and find where they changed.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

HISTORY = Path("history.jsonl")

_COLUMNS = (
    *(Column("change"), Column("cell"), Column("metric"), Column("runs", numeric=True)),
    *(Column("at"), Column("commit_before"), Column("commit"), Column("vllm")),
    *(Column("before", numeric=True), Column("after", numeric=True)),
    *(Column("ratio", numeric=True), Column("p", numeric=True), Column("machine")),
)

File = Annotated[Path, typer.Option("--history", metavar="FILE", help="JSON lines.")]


@history.command()
def add(
    results: Annotated[list[Path], typer.Argument(metavar="RESULTS...", help="Results folders.")],
    file: File = HISTORY,
) -> None:
    """Append runs to the history, a line a cell; a run that is there already adds nothing.

    Cells with the verdict INVALID are left out. `pytest --perf-history FILE` does it at the end of
    a run.

    \b
    Examples:
      draftgate history add results/latest
      draftgate history add results/2026-* --history nightly.jsonl
    """
    from draftgate.reporting.history import append
    from draftgate.reporting.run_entries import entries_of

    added = sum(append(file, entries_of(folder)) for folder in results)
    print(f"draftgate: {added} lines added to {file}", file=sys.stderr)


@history.command()
def show(
    file: File = HISTORY,
    keyword: Annotated[
        str, typer.Option("-k", metavar="SUBSTRING", help="Only cells whose id contains this.")
    ] = "",
    metric: Annotated[str, typer.Option(metavar="NAME", help="Only this metric.")] = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Also series without a change.")
    ] = False,
    least_change: Annotated[
        float, typer.Option(min=0, metavar="SHARE", help="Smaller relative changes are no news.")
    ] = 0.01,
    alpha: Annotated[
        float, typer.Option(min=0.0005, max=0.5, metavar="P", help="Significance of one change.")
    ] = 0.001,
    output: FormatOption = Format.TABLE,
) -> None:
    """Print the change points of the history, the losses first.

    A change point is the first run of a new level: a permutation test over the best cut of the
    series, so that it takes about 14 runs, seven on either side, to prove one at p < 0.001. Series
    of different machines, or over other prompts, are never joined.

    \b
    Examples:
      draftgate history show
      draftgate history show -k eagle3 --metric speedup --all
      draftgate history show --format json | jq '.[] | select(.change == "worse")'
    """
    from draftgate.reporting.history import read
    from draftgate.reporting.trend import trend
    from draftgate.verdict.change_points import ChangeRule

    rule = ChangeRule(alpha=alpha, least_change=least_change)
    entries = [entry for entry in read(file) if keyword in entry.cell]
    records = trend(entries, rule, quiet_too=everything)
    chosen = [record for record in records if metric in ("", record["metric"])]
    if not chosen and output is Format.TABLE:
        print(f"no change in {len({entry.run for entry in entries})} runs")
    else:
        emit(chosen, _COLUMNS, output)
