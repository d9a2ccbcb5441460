"""Drawn speeds of a profile's cells: logs, arrays of gates x cells x sessions x rounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from draftgate.verdict.power.engine_noise import EngineNoise

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Speeds:
    """Log throughput, and log speed-up over the control's rounds beside it (0 of a control).

    ``machine``: the machine's own shift, gates x sessions. ``start``: that of each process start,
    gates x cells x sessions.
    """

    throughput: Array
    speedup: Array
    machine: Array
    start: Array


def draw(
    random: np.random.Generator,
    noise: EngineNoise,
    controls: npt.NDArray[np.int_],
    gates: int,
    sessions: int,
    rounds: int,
) -> Speeds:
    """``controls[c]``: index of cell c's control, itself where it is one.

    Every cell has its own luck at a process start, though cells of one engine share it: that gives
    chance the most tries, so that the false alarms of a gate are not understated.
    """
    shape = (gates, len(controls), sessions, rounds)
    machine = random.normal(0, noise.machine_sd, (gates, sessions))
    start = random.normal(0, noise.session_sd, (*shape[:3], 1))
    arm = start + random.normal(0, noise.round_sd, shape)
    beside = start[:, controls] + random.normal(0, noise.round_sd, shape)
    drafting = controls != np.arange(len(controls))
    speedup = (arm - beside) * drafting[None, :, None, None]
    return Speeds(machine[:, None, :, None] + arm, speedup, machine, start[..., 0])


def session_estimate(logs: Array) -> Array:
    """Mean over sessions of the median round, what `noise.difference` compares."""
    middle: Array = np.median(logs, axis=-1).mean(axis=-1)
    return middle
