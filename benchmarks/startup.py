"""Start-up time of the command line, as a ratio to the bare interpreter's, with both figures.

python benchmarks/startup.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 7
COMMANDS = {
    "draftgate --help": ["-m", "draftgate.cli.main", "--help"],
    "draftgate plan": ["-m", "draftgate.cli.main", "plan", "--profile", "cpu"],
}


def seconds(arguments: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    for name, arguments in COMMANDS.items():
        pairs = [(seconds(arguments), seconds(["-c", "pass"])) for _ in range(RUNS)]
        ours, bare = (statistics.median(side) for side in zip(*pairs, strict=True))
        print(f"{name:18} {ours:.2f} s, bare interpreter {bare:.2f} s (median of {RUNS})")


if __name__ == "__main__":
    main()
