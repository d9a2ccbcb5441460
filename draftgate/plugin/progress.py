"""Progress while cells are measured: one line that is rewritten, on a terminal only."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from draftgate.engine.fleet import StartState
    from draftgate.engine.host import EngineHost
    from draftgate.engine.records import RoundRecord
    from draftgate.profile.cells import Cell

BAR_WIDTH = 20
CLEAR_LINE = "\r\x1b[2K"


class ProgressLine:
    """Shows cell, arm, round and time left; silent where the output is no terminal."""

    def __init__(self, config: pytest.Config, cells: int, rounds: int) -> None:
        """``rounds``: of the arm, in a timed cell."""
        self._config = config
        self._cells: dict[str, int] = {}
        self._total_cells = cells
        self._rounds = rounds
        self._started = time.monotonic()
        reporter = config.pluginmanager.getplugin("terminalreporter")
        self._writer = reporter._tw if reporter and reporter.isatty else None

    def round_done(self, cell: Cell, arm: str, record: RoundRecord) -> None:
        """A round ended (`draftgate.measure.session.Watcher`)."""
        played = self._cells.get(cell.id, 0) + (arm in ("arm", "control"))
        self._cells[cell.id] = played
        of, before = self._rounds_of(cell), len(self._cells) - 1
        share = (before + min(1.0, played / of)) / max(1, self._total_cells)
        self.show(
            f"{_bar(share)} {before + 1}/{self._total_cells} {cell.id}  {arm} {played}/{of}  "
            f"{record.generated_tokens / record.wall_s:.0f} tok/s{self._left(share)}"
        )

    def pairs(self, wanted: int) -> PairProgress:
        """Shows rounds that are played beside the reference, ``wanted`` pairs a cell."""
        return PairProgress(self, 2 * wanted)

    def engine_changed(self, host: EngineHost, state: StartState) -> None:
        """An engine is starting, ready or failed (`draftgate.engine.fleet`)."""
        self.show(f"engine {host.label}: {state}")

    def show(self, text: str) -> None:
        """Rewrite the line."""
        if self._writer is None:
            return
        capture = self._config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled():
            self._writer.write(CLEAR_LINE + text[: self._writer.fullwidth - 1], flush=True)

    def clear(self) -> None:
        """Remove the line, before pytest writes its own."""
        self.show("")

    def _rounds_of(self, cell: Cell) -> int:
        rounds = self._rounds if cell.timed else 1
        return rounds if cell.scenario.is_control else 2 * rounds

    def _left(self, share: float) -> str:
        elapsed = time.monotonic() - self._started
        if share < 0.02:
            return ""
        minutes, seconds = divmod(int(elapsed * (1 - share) / share), 60)
        return f"  {minutes}:{seconds:02} left"


class PairProgress:
    """The reference stage's part of the line."""

    def __init__(self, line: ProgressLine, rounds: int) -> None:
        self._line = line
        self._rounds = rounds
        self._played: Counter[str] = Counter()

    def round_done(self, cell: Cell, arm: str, record: RoundRecord) -> None:
        """A round ended (`draftgate.measure.session.Watcher`)."""
        self._played[cell.id] += arm != "warm-up"
        speed = record.generated_tokens / record.wall_s
        self._line.show(
            f"{cell.id}  beside the reference {self._played[cell.id]}/{self._rounds}  "
            f"{speed:.0f} tok/s"
        )


def _bar(share: float) -> str:
    filled = round(BAR_WIDTH * share)
    return "[" + "#" * filled + "-" * (BAR_WIDTH - filled) + "]"
