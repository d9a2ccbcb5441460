"""`draftgate advise`: which variant and k to run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from draftgate.cli.output import Column, Format, FormatOption, emit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from draftgate.analysis.advice import Advice
    from draftgate.verdict.verdict import Verdict

_COLUMNS = (
    Column("target"),
    Column("workload"),
    Column("batch_size", numeric=True),
    Column("best"),
    Column("k", numeric=True),
    Column("speedup", numeric=True),
    Column("next"),
    Column("margin", numeric=True),
    Column("margin_low", numeric=True),
    Column("margin_high", numeric=True),
    Column("clear"),
    Column("n", numeric=True),
    Column("break_even"),
    Column("reason"),
)
_SHOWN = tuple(column for column in _COLUMNS if column.key != "reason")


def advise(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="The folder of a run.")],
    partial: Annotated[
        bool, typer.Option("--partial", help="Accept a run that did not finish.")
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Name the best variant and k for every workload and batch size that a run has timed.

    A record is {target, workload, batch_size, best, k, speedup, next, margin, margin_low,
    margin_high, clear, n, break_even, reason}. The margin is the speed-up over the next best, less
    one, with its 95 % confidence interval (n rounds; the shift between sessions counts); it is
    clear where the interval is above 0. break_even is the batch size from which the best variant
    no longer beats standard decoding: a number, or >N and <N beyond what was measured. Cells whose
    verdict is INVALID are left out; what fails of a variant that is named best is told on stderr.

    \b
    Examples:
      draftgate advise results/latest
      draftgate advise results/latest --format json | jq -r '.[].reason'
    """
    from draftgate.analysis.advice import advise as advise_on
    from draftgate.reporting.run_reader import read_run
    from draftgate.verdict.kinds import VerdictKind

    run = read_run(results, partial)
    unsound = {v.cell for v in run.verdicts if v.verdict is VerdictKind.INVALID}
    found = advise_on(m for m in run.measurements if m.draftgate.subject.cell not in unsound)
    for line in _warnings(found, run.verdicts):
        print(f"draftgate: {line}", file=sys.stderr)
    records = [_record(advice) for advice in found]
    emit(records, _SHOWN if output is Format.TABLE else _COLUMNS, output)
    if output is Format.TABLE:
        for advice in found:
            where = f"{advice.target}, {advice.workload} at batch {advice.batch_size}"
            print(f"{where}: {advice.reason}.")
        print("margin: relative, 95 % confidence interval", file=sys.stderr)


def _warnings(found: Iterable[Advice], verdicts: Sequence[Verdict]) -> Iterator[str]:
    for advice in found:
        place = f"{advice.target}/{advice.best.variant}/{advice.workload}/bs{advice.batch_size}"
        yield from (v.line() for v in verdicts if v.cell == place and v.fails())


def _record(advice: Advice) -> dict[str, Any]:
    return {
        "target": advice.target,
        "workload": advice.workload,
        "batch_size": advice.batch_size,
        "best": advice.best.variant,
        "k": advice.best.k,
        "speedup": round(advice.best.speedup, 4),
        "next": advice.following.variant,
        "margin": round(advice.margin.value, 4),
        "margin_low": round(advice.margin.low, 4),
        "margin_high": round(advice.margin.high, 4),
        "clear": advice.margin.clear,
        "n": len(advice.best.speedups),
        "break_even": advice.break_even,
        "reason": advice.reason,
    }
