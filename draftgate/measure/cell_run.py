"""One cell's rounds, each beside a round of its control, in the order A B B A."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from draftgate.engine.records import RoundRecord
from draftgate.measure.warmup import Play

Watch = Callable[[str, RoundRecord], None]


def _ignore(_: str, __: RoundRecord) -> None:
    return None


@dataclass
class CellRun:
    """Plays the timed rounds of a cell; ``control`` is None for the control's own cells.

    Pair ``i`` is (control, arm) where ``i`` is even and (arm, control) where it is odd, so that a
    drift of the machine's speed falls on both alike. A caller with a timer of its own
    (pytest-benchmark) drives ``before``/``play``/``after``; others call ``finish``.
    """

    arm: Play
    control: Play | None
    rounds_wanted: int
    watch: Watch = _ignore
    rounds: list[RoundRecord] = field(default_factory=list)
    control_rounds: list[RoundRecord] = field(default_factory=list)
    order: list[str] = field(default_factory=list)

    def before(self) -> None:
        """Play the control's round of an even pair."""
        if len(self.rounds) % 2 == 0:
            self._play_control()

    def play(self) -> RoundRecord:
        """Play one timed round of the arm."""
        record = self.arm()
        self.rounds.append(record)
        self.order.append("arm")
        return record

    def after(self) -> None:
        """Play the control's round of an odd pair, and tell the watcher."""
        self.watch("arm", self.rounds[-1])
        if len(self.rounds) % 2 == 0:
            self._play_control()

    def finish(self) -> None:
        """Play what is missing."""
        while len(self.rounds) < self.rounds_wanted:
            self.before()
            self.play()
            self.after()

    def _play_control(self) -> None:
        if self.control is None:
            return
        record = self.control()
        self.control_rounds.append(record)
        self.order.append("control")
        self.watch("control", record)
