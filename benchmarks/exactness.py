"""Are exact metrics exact? Compares the cells of several result folders with `==`.

Run the profile a few times, then compare:

    for i in 1 2 3 4 5; do pytest -q perf_tests --profile cpu --perf-json /tmp/exact/$i; done
    python benchmarks/exactness.py /tmp/exact/*
"""

from __future__ import annotations

import sys
from pathlib import Path

from draftgate.measure.record import Measurement


def main(folders: list[str]) -> int:
    sessions = {f: {p.name: p for p in Path(f, "cells").glob("*.json")} for f in folders}
    names = sorted(set.union(*(set(found) for found in sessions.values())))
    different = incomplete = 0
    for name in names:
        missing = [f for f, found in sessions.items() if name not in found]
        exact = {
            Measurement.read(found[name]).draftgate.exact.model_dump_json()
            for found in sessions.values()
            if name in found
        }
        different += len(exact) > 1
        incomplete += bool(missing)
        if missing or len(exact) > 1:
            print(f"{name}: {len(exact)} different results, missing in {missing or 'none'}")
    print(
        f"{len(names)} cells, {len(folders)} sessions, {different} cells differ, "
        f"{incomplete} are missing somewhere"
    )
    return int(different + incomplete > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
