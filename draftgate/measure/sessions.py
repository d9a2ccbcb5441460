"""Samples of a timed metric by session: the median of medians is what is stored and shown."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

Sessions = Sequence[Sequence[float]]
"""One inner sequence a session (one process start), one value a round."""


def median_of(sessions: Sessions) -> float:
    """Median of session medians; empty sessions do not count.

    Raises statistics.StatisticsError where no session has a value.
    """
    return statistics.median(statistics.median(session) for session in sessions if session)
