"""Which cores an engine computes on.

All arms share one placement: they are timed in turn, never at once, so the same cores serve both
sides of a comparison. The number of threads is fixed rather than "all", since the order of a sum
can depend on it, and with it a token.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from draftgate.engine.records import Record

DEFAULT_THREADS = 2


class Placement(Record):
    """``cores``: logical CPU numbers, one a physical core; one OpenMP thread each."""

    cores: tuple[int, ...]

    @property
    def threads(self) -> int:
        """OpenMP threads."""
        return len(self.cores)


def sibling_of(cpu: int) -> int:
    """Lowest logical CPU on the physical core of ``cpu``; itself where that is unknown."""
    path = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
    try:
        return int(path.read_text().replace("-", ",").split(",")[0])
    except (OSError, ValueError):
        return cpu


def place(
    threads: int | None = None,
    available: Iterable[int] | None = None,
    core_of: Callable[[int], int] = sibling_of,
) -> Placement:
    """The first ``threads`` physical cores this process may use.

    ``available``: logical CPUs (default: this process's affinity). ``core_of`` names the physical
    core of a logical CPU. Without ``threads`` it takes `DEFAULT_THREADS`, or what there is.

    Raises:
        ValueError: fewer physical cores than ``threads``; two threads on one core fight.
    """
    cpus = sorted(available if available is not None else _affinity())
    cores = tuple(sorted({core_of(cpu): cpu for cpu in reversed(cpus)}.values()))
    if threads is None:
        threads = min(DEFAULT_THREADS, len(cores))
    if threads > len(cores):
        raise ValueError(f"threads={threads}, but only {len(cores)} physical cores are available")
    return Placement(cores=cores[:threads])


def _affinity() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))
