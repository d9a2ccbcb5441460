"""`draftgate acceptance`: what the acceptance of cells and traces is like."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from draftgate.cli.output import Column, Format, FormatOption, emit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftgate.measure.record import Measurement

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
_MATCHED = (
    Column("source"),
    Column("variant"),
    Column("prompts", numeric=True),
    Column("tokens", numeric=True),
    Column("acceptance_length", numeric=True),
    Column("half_width", numeric=True),
    Column("against", numeric=True),
    Column("against_half_width", numeric=True),
)


def acceptance(
    source: Annotated[
        list[Path],
        typer.Argument(metavar="SOURCE...", help="Folders of runs, files of cells/, or traces."),
    ],
    profiles: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write a speculation_profile.json a scenario there."),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="RUN", help="Compare with this run, over the output that both have."),
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

    With --against the acceptance lengths are length-matched: both arms' steps count up to the end
    of the shorter output, since one that stops early leaves out what may be easier or harder to
    draft. A record is {source, variant, prompts, tokens, acceptance_length, half_width, against,
    against_half_width}.

    A speculation_profile.json (NVIDIA Model Optimizer's keys) holds conditional and marginal
    acceptance rates: vLLM's synthetic_acceptance_rates takes the marginal ones.

    \b
    Examples:
      draftgate acceptance results/latest
      draftgate acceptance gsm8k.jsonl instructcoder.jsonl --format csv
      draftgate acceptance results/latest --profiles profiles-of-drafts
      draftgate acceptance results/latest --against results/before
    """
    from draftgate.analysis.acceptance_summary import (
        cell_summaries,
        matched_summaries,
        trace_summaries,
    )
    from draftgate.analysis.open_trace import open_trace

    if profiles and (against or len(source) > 1 or not source[0].is_dir()):
        raise typer.BadParameter(
            "give the folder of one run, without --against", param_hint="--profiles"
        )
    if against is not None:
        cells = [m for path in source for m in _cells(path, partial)]
        emit(list(matched_summaries(cells, _cells(against, partial))), _MATCHED, output)
        return
    records: list[dict[str, Any]] = []
    for path in source:
        if path.is_dir() or path.suffix == ".json":
            records += cell_summaries(_cells(path, partial))
        else:
            records += trace_summaries(open_trace(path))
    if profiles:
        _write_profiles(_cells(source[0], partial), profiles)
    emit(records, _COLUMNS, output)


def _cells(path: Path, partial: bool) -> Sequence[Measurement]:
    """Of a run's folder, or one from its file."""
    from draftgate.measure.record import Measurement
    from draftgate.reporting.run_reader import read_run

    return read_run(path, partial).measurements if path.is_dir() else [Measurement.read(path)]


def _write_profiles(cells: Sequence[Measurement], folder: Path) -> None:
    from draftgate.reporting.profiles import write_profiles

    for path in write_profiles(cells, folder):
        print(f"draftgate: wrote {path}", file=sys.stderr)
