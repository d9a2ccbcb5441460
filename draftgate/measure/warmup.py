"""Warm-up: play rounds until two in a row take about as long."""

from __future__ import annotations

from collections.abc import Callable

from draftgate.engine.records import RoundRecord

Play = Callable[[], RoundRecord]


def warm_up(play: Play, most: int, tolerance: float) -> list[RoundRecord]:
    """Rounds played until two successive walls agree within ``tolerance``, at most ``most``.

    The rounds are returned so that they can be recorded; they are never used for timing.
    """
    rounds: list[RoundRecord] = []
    while len(rounds) < most and not _steady(rounds, tolerance):
        rounds.append(play())
    return rounds


def _steady(rounds: list[RoundRecord], tolerance: float) -> bool:
    if len(rounds) < 2:
        return False
    before, now = rounds[-2].wall_s, rounds[-1].wall_s
    return abs(now - before) <= tolerance * before
