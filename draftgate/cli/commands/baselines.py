"""`draftgate baselines`: what is stored, what changed, and whether it can be trusted."""

from __future__ import annotations

import typer

from draftgate.cli.commands.baselines_anchor import anchor
from draftgate.cli.commands.baselines_check import check
from draftgate.cli.commands.baselines_diff import diff
from draftgate.cli.commands.baselines_show import show

baselines = typer.Typer(
    help="Stored baselines: show, compare and check them, anchor a release.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
baselines.command()(show)
baselines.command()(diff)
baselines.command()(check)
baselines.command()(anchor)
