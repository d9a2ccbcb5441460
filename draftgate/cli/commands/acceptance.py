"""`draftgate acceptance`: what the acceptance of cells and traces is like."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from draftgate.cli.output import Column, Format, FormatOption, emit

if TYPE_CHECKING:
    from draftgate.reporting.run_reader import Run

_COLUMNS = (
    Column("source"),
    Column("variant"),
    Column("requests", numeric=True),
    Column("steps", numeric=True),
    Column("acceptance_length", numeric=True),
    Column("half_width", numeric=True),
    Column("per_request_median", numeric=True),
    Column("per_request_std", numeric=True),
    Column("autocorrelation", numeric=True),
    Column("autocorrelation_noise", numeric=True),
    Column("burst_length", numeric=True),
)


def acceptance(
    source: Annotated[
        list[Path], typer.Argument(metavar="SOURCE...", help="Folders of runs, or trace files.")
    ],
    profiles: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a speculation_profile.json a scenario there."),
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Accept a run that did not finish.")
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Summarise acceptance across requests, with its noise, and whether it comes in bursts.

    A record is {source, variant, requests, steps, acceptance_length, half_width,
    per_request_median, per_request_std, autocorrelation, autocorrelation_noise, burst_length}.
    half_width: of the 95 % interval with requests as clusters. Autocorrelation: of tokens per step,
    lag 1, beside where 95 % of its values lie without memory. burst_length: of runs of fully
    accepted steps, relative to random order. A trace has a step at every position, so that its
    neighbours overlap; those of a run are the steps that the engine took.

    A speculation_profile.json (NVIDIA Model Optimizer's keys) holds conditional and marginal
    acceptance rates: vLLM's synthetic_acceptance_rates takes the marginal ones.

    \b
    Examples:
      draftgate acceptance results/latest
      draftgate acceptance gsm8k.jsonl instructcoder.jsonl --format csv
      draftgate acceptance results/latest --profiles profiles-of-drafts
    """
    from draftgate.analysis.acceptance_summary import measured_summary, trace_summaries
    from draftgate.analysis.open_trace import open_trace
    from draftgate.reporting.run_reader import read_run

    records: list[dict[str, Any]] = []
    for path in source:
        if not path.is_dir():
            records += trace_summaries(open_trace(path))
            continue
        run = read_run(path, partial)
        summaries = (measured_summary(measured.draftgate) for measured in run.measurements)
        records += [summary for summary in summaries if summary]
        if profiles:
            _write_profiles(run, profiles)
    emit(records, _COLUMNS, output)


def _write_profiles(run: Run, folder: Path) -> None:
    from draftgate.reporting.profiles import write_profiles

    for path in write_profiles(run.measurements, folder):
        print(f"draftgate: wrote {path}", file=sys.stderr)
