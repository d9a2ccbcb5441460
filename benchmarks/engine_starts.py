"""What one engine start per scenario saves, against one per cell.

Counts the cells and starts of a finished run, measures a sample of engine starts, and prints the
ratio of the run's wall time to the time that starting an engine for every cell would take:

    python benchmarks/engine_starts.py results/latest
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from datetime import datetime
from pathlib import Path

from draftgate.measure.arms import host_factory
from draftgate.profile import load_profile

SAMPLE = 4


def main(folder: str) -> None:
    run = json.loads(Path(folder, "run.json").read_text())
    profile = load_profile(run["profile"])
    chosen = profile.scenarios()[:SAMPLE]
    seconds = []
    with tempfile.TemporaryDirectory() as logs:
        make = host_factory(Path(logs), max_num_seqs=lambda scenario: 16, seed=profile.seed)
        for scenario in chosen:
            start = time.perf_counter()
            with make(scenario):
                seconds.append(time.perf_counter() - start)
    # A cell needs its own engine and its control's, where it has one.
    cells = [c for c in profile.cells() if c.id in set(run["cells"])]
    starts = sum(1 if c.scenario.is_control else 2 for c in cells)
    ended, started = (datetime.fromisoformat(run[key]) for key in ("ended", "started"))
    wall = (ended - started).total_seconds()
    one = statistics.median(seconds)
    per_cell = starts * one + wall - run["engines_ready_s"]
    print(
        f"{len(cells)} cells: the run took {wall:.0f} s with {run['engine_starts']} engine starts; "
        f"with engines of its own for every cell: {starts} starts of {one:.1f} s (median of "
        f"{SAMPLE}) and the same rounds, {per_cell:.0f} s: ratio {wall / per_cell:.2f}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", help="the folder of a finished run")
    main(parser.parse_args().results)
