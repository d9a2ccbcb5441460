"""`draftgate baselines show`: every stored number."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from draftgate.cli.commands.baselines_folder import require_folder
from draftgate.cli.output import Column, Format, FormatOption, emit

_COLUMNS = (
    *(Column("kind"), Column("machine"), Column("cell"), Column("metric")),
    *(Column("value", numeric=True), Column("n", numeric=True), Column("date")),
    *(Column("age_days", numeric=True), Column("commit"), Column("vllm"), Column("note")),
)


def show(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Baselines.")] = Path("baselines"),
    keyword: Annotated[
        str, typer.Option("-k", metavar="SUBSTRING", help="Only cells whose id contains this.")
    ] = "",
    machine: Annotated[
        str, typer.Option(metavar="KEY", help="Only this fingerprint or ISA class.")
    ] = "",
    output: FormatOption = Format.TABLE,
) -> None:
    """Print the stored baselines, a metric a line: the median of timed ones, ratios of exact ones.

    \b
    Examples:
      draftgate baselines show
      draftgate baselines show -k eagle3 --format csv
      draftgate baselines show --machine x86-avx2-fp32 --format json | jq '.[].value'
    """
    from datetime import UTC, datetime

    from draftgate.baseline.listing import listing

    require_folder(folder)
    records = [
        record
        for record in listing(folder, datetime.now(UTC).date())
        if keyword in record["cell"] and machine in ("", record["machine"])
    ]
    emit(records, _COLUMNS, output)
