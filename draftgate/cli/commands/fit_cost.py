"""`draftgate fit-cost`: the simulator's constants from measured stage times."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from draftgate.cli.output import Column, Format, FormatOption, emit

if TYPE_CHECKING:
    from draftgate.measure.record import Measurement

_COLUMNS = (
    Column("fitted"),
    Column("steps", numeric=True),
    Column("error_median", numeric=True),
    Column("error_p90", numeric=True),
)


def fit_cost(
    results: Annotated[
        list[Path],
        typer.Argument(metavar="RESULTS...", help="Folders of runs, or files of their cells/."),
    ],
    target: Annotated[
        str | None, typer.Option(help="The target, where the results have several.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write the model as JSON.")
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Fit a cost model to the stage times of measured cells, and say how well it fits.

    Records are {fitted, steps, error_median, error_p90}: relative errors of the fitted steps. The
    cells must have stage times (stages = true in the profile's [plan]) at several batch sizes.

    \b
    Examples:
      draftgate fit-cost results/latest --target llama-tiny -o cost.json
      draftgate simulate TRACE --cost-model cost.json
    """
    from draftgate.analysis.fit_cost import fit_cost_model, staged_cell
    from draftgate.measure.atomic import write_text
    from draftgate.measure.record import Measurement

    measurements = [Measurement.read(path) for given in results for path in _files(given)]
    name = _one_target(measurements, target)
    chosen = [m for m in measurements if m.draftgate.subject.target == name]
    _require_one_machine(chosen)
    cells = [cell for m in chosen if (cell := staged_cell(m)) is not None]
    if len({m.draftgate.subject.batch_size for m in chosen if m.draftgate.stages}) == 1:
        print("draftgate: one batch size: what grows with it is a guess", file=sys.stderr)
    fit = fit_cost_model(name, cells)
    if out is not None:
        try:
            write_text(out, json.dumps(asdict(fit.model), indent=1) + "\n")
        except OSError as error:
            raise typer.BadParameter(f"--out {out}: {error.strerror}") from error
    records = [
        {
            "fitted": fitted,
            "steps": found.n,
            "error_median": round(found.median, 4),
            "error_p90": round(found.p90, 4),
        }
        for fitted, found in fit.residuals.items()
    ]
    emit(records, _COLUMNS, output)


def _files(given: Path) -> list[Path]:
    if not given.is_dir():
        return [given]
    found = sorted((given / "cells").glob("*.json"))
    if not found:
        raise typer.BadParameter(f"{given}: no cells/*.json in it; give the folder of a run")
    return found


def _require_one_machine(measurements: list[Measurement]) -> None:
    """Times of two machines, or of two versions of vLLM, are of two models."""
    blocks = [m.draftgate for m in measurements]
    found = sorted({f"{b.machine.key}, vLLM {b.provenance.vllm}" for b in blocks})
    if len(found) > 1:
        raise typer.BadParameter(
            f"the cells are of {' and of '.join(found)}: give runs of one", param_hint="RESULTS"
        )


def _one_target(measurements: list[Measurement], wanted: str | None) -> str:
    targets = sorted({m.draftgate.subject.target for m in measurements})
    if wanted is None and len(targets) == 1:
        return targets[0]
    if wanted not in targets:
        raise typer.BadParameter(f"give --target, one of {', '.join(targets)}")
    return wanted
