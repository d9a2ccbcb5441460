"""The noise of an engine's speed, and its fit to recorded sessions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from draftgate.verdict.facts import CellFacts
from draftgate.verdict.noise import SessionGroup


class NoiseError(Exception):
    """Recorded sessions that tell nothing of noise; says what is missing."""


@dataclass(frozen=True)
class EngineNoise:
    """Standard deviations of log speed, so relative ones.

    ``machine_sd``: between sessions, common to all engines of one. ``session_sd``: of each process
    start. ``round_sd``: of each round.
    """

    machine_sd: float
    session_sd: float
    round_sd: float

    @property
    def between_sessions(self) -> float:
        """What one engine's sessions differ by: the machine's shift and the start's."""
        return math.hypot(self.machine_sd, self.session_sd)


QUIET_GPU = EngineNoise(machine_sd=0.005, session_sd=0.005, round_sd=0.02 / math.sqrt(2))
"""A pair of neighbouring rounds differs by 2 % (one standard deviation). An assumption for plans
before anything is recorded: 0.5 % between starts is what serving at batch 8 and more shows."""


def fit_noise(sessions: Iterable[CellFacts]) -> EngineNoise:
    """Moments of the recorded sessions of each cell, pooled over cells.

    What sessions of `speedup` differ by is the shift of two process starts; what those of
    `output_throughput` differ by beyond one start's is the machine's. Raises NoiseError without a
    cell that has two sessions of both metrics, with two rounds in some.
    """
    by_cell: dict[str, list[CellFacts]] = {}
    for facts in sessions:
        by_cell.setdefault(facts.cell, []).append(facts)
    speed = _pooled(_groups(by_cell, "output_throughput"))
    relative = _pooled(_groups(by_cell, "speedup"))
    session = relative.shift / 2
    return EngineNoise(
        machine_sd=math.sqrt(max(0.0, speed.shift - session)),
        session_sd=math.sqrt(session),
        round_sd=math.sqrt(speed.round),
    )


@dataclass(frozen=True)
class _Variances:
    shift: float
    round: float


def _groups(by_cell: dict[str, list[CellFacts]], metric: str) -> list[SessionGroup]:
    found = []
    for facts in by_cell.values():
        sessions = [s for one in facts for s in one.timed.get(metric, ()) if s]
        if len(sessions) > 1:
            found.append(SessionGroup.of(sessions))
    if not any(group.round_dof for group in found):
        raise NoiseError(
            f"no cell has two sessions with several rounds of {metric}: "
            "run pytest perf_tests again on the same machine and give both results folders"
        )
    return found


def _pooled(groups: list[SessionGroup]) -> _Variances:
    starts = sum(g.sessions - 1 for g in groups)
    rounds = sum(g.round_dof for g in groups)
    return _Variances(
        max(0.0, math.fsum(g.shift_variance * (g.sessions - 1) for g in groups) / starts),
        math.fsum(g.round_variance * g.round_dof for g in groups) / rounds,
    )
