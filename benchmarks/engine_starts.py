"""What one engine start per scenario saves, against one per cell.

Takes the wall time of a finished run, measures a sample of its cells alone, each in a run of its
own that starts the cell's engine and its control's, and prints the ratio:

    python benchmarks/engine_starts.py results/latest
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

from draftgate.profile import load_profile
from draftgate.profile.cells import Cell


def alone(profile: str, cell: Cell) -> float:
    """Seconds of a run of one cell."""
    with tempfile.TemporaryDirectory() as folder:
        selection = ["--profile", profile, "-k", f"{cell.test_id}]", "--perf-json", folder]
        command = [sys.executable, "-m", "pytest", "-q", "-m", "perf", "perf_tests", *selection]
        start = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):  # a verdict may be red
            raise SystemExit(done.stdout + done.stderr)
        return time.perf_counter() - start


def main(folder: str, every: int) -> None:
    run = json.loads(Path(folder, "run.json").read_text())
    cells = [c for c in load_profile(run["profile"]).cells() if c.id in set(run["cells"])]
    ended, started = (datetime.fromisoformat(run[key]) for key in ("ended", "started"))
    wall = (ended - started).total_seconds()
    sample = [alone(run["profile"], cell) for cell in cells[::every]]
    one = statistics.fmean(sample)
    per_cell = len(cells) * one
    print(
        f"{len(cells)} cells: the run took {wall:.0f} s with {run['engine_starts']} engine starts; "
        f"a cell alone takes {one:.1f} s ({min(sample):.1f}..{max(sample):.1f}, n={len(sample)}), "
        f"all of them {per_cell:.0f} s: ratio {wall / per_cell:.2f}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", help="the folder of a finished run")
    parser.add_argument("--every", type=int, default=9, help="measure every Nth cell")
    arguments = parser.parse_args()
    main(arguments.results, arguments.every)
