"""`draftgate baselines diff`: what a refresh changes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from draftgate.cli.commands.baselines_folder import require_folder
from draftgate.cli.output import Column, Format, FormatOption, emit

_COLUMNS = (
    *(Column("machine"), Column("cell"), Column("metric"), Column("change")),
    *(Column("old", numeric=True), Column("new", numeric=True), Column("ratio", numeric=True)),
)


def diff(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", help="Folder of baselines.")],
    after: Annotated[Path, typer.Argument(metavar="AFTER", help="Folder of baselines.")],
    output: FormatOption = Format.TABLE,
) -> None:
    """Print what differs between two folders of baselines: numbers, hashes, limits by hand.

    \b
    Examples:
      git worktree add --detach /tmp/base main
      draftgate baselines diff /tmp/base/baselines baselines
      draftgate baselines diff old new --format json | jq '.[] | select(.ratio < 0.97)'
    """
    from draftgate.baseline.listing import diff as compare

    for folder in (before, after):
        require_folder(folder)
    fields = [column.key for column in _COLUMNS]
    records = [{"kind": r["kind"], **{f: r[f] for f in fields}} for r in compare(before, after)]
    if output is not Format.JSON:
        records = [{f: r[f] for f in fields} for r in records]
    emit(records, _COLUMNS, output)
