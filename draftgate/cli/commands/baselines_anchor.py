"""`draftgate baselines anchor`: hold a release against slow creep."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def anchor(
    release: Annotated[str, typer.Argument(metavar="RELEASE", help="Its name, such as v0.1.0.")],
    folder: Annotated[Path, typer.Option("--baseline-dir", metavar="DIR")] = Path("baselines"),
    machine: Annotated[str, typer.Option(metavar="KEY", help="Only this fingerprint.")] = "",
    move: Annotated[bool, typer.Option("--move", help="Replace an anchor that stands.")] = False,
) -> None:
    """Keep today's timed baselines as those of a release.

    From then on --update-baselines refuses a cell that lost more than its limit since the release,
    however small each step was, and `draftgate baselines check` reports one that did. A limit
    written into the anchor's file (anchor/<machine>/...) replaces the profile's.

    \b
    Examples:
      draftgate baselines anchor v0.1.0
      draftgate baselines anchor v0.2.0 --machine cpu-xeon-2c-8gib --move
    """
    from draftgate.baseline.anchor import set_anchor

    for path in set_anchor(folder, release, machine, move=move):
        print(f"draftgate: {path}", file=sys.stderr)
