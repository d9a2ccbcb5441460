"""`draftgate merge`: the results of shards as those of one run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def merge(
    folders: Annotated[
        list[Path], typer.Argument(metavar="DIR...", help="Results folders of the shards.")
    ],
    target: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="New folder for the whole run.")
    ],
) -> None:
    """Merge results folders that the shards of one run wrote.

    Refused: folders of another profile, machine, commit or vLLM, and a cell that two of them were
    asked for. A control that several shards measured for their arms is kept once, from the shard
    it belongs to. Whether the shards make a whole run is for `draftgate gate` to say.

    \b
    Examples:
      pytest -m perf perf_tests --shard 1/2 --perf-json out/1 --junitxml out/1.xml
      pytest -m perf perf_tests --shard 2/2 --perf-json out/2 --junitxml out/2.xml
      draftgate merge out/1 out/2 -o out/whole && draftgate gate out/1.xml out/2.xml
    """
    from draftgate.reporting.merge import merge as merged

    facts = merged(folders, target)
    print(f"draftgate: {len(facts['cells'])} cells in {target}", file=sys.stderr)
