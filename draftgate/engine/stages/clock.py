"""Clocks of the stage timer: marks are cheap to take, and are turned into times after the round."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

ClockName = Literal["host", "cuda_event"]


@dataclass(frozen=True)
class Clock:
    """``mark`` takes a moment; ``deltas_ms`` gives milliseconds between successive marks."""

    name: ClockName
    mark: Callable[[], Any]
    deltas_ms: Callable[[Sequence[Any]], list[float]]


def host_clock() -> Clock:
    """For work that is done when the call returns."""

    def deltas_ms(marks: Sequence[int]) -> list[float]:
        return [(after - before) / 1e6 for before, after in itertools.pairwise(marks)]

    return Clock("host", time.perf_counter_ns, deltas_ms)


def cuda_clock() -> Clock:
    """Events on the current stream: times are the device's, whatever the host runs ahead."""
    import torch

    new_event: Any = torch.cuda.Event  # torch types neither its constructor nor its methods

    def mark() -> Any:
        event = new_event(enable_timing=True)
        event.record()
        return event

    def deltas_ms(marks: Sequence[Any]) -> list[float]:
        if marks:
            marks[-1].synchronize()
        # Pairs, not times since the first: CUDA gives float32 milliseconds.
        return [before.elapsed_time(after) for before, after in itertools.pairwise(marks)]

    return Clock("cuda_event", mark, deltas_ms)
