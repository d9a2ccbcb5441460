"""The progress line: cell, arm, round and time left, on a terminal only."""

from __future__ import annotations

import io
import tomllib
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from fake_engines import FakeEngines
from small_project import PROFILE

from draftgate.engine.records import RoundRecord
from draftgate.plugin.progress import CLEAR_LINE, ProgressLine
from draftgate.profile.cells import Cell
from draftgate.profile.load import parse_profile

ROUND = RoundRecord(batch_size=2, wall_s=2.0, steps=1, requests=())


@pytest.fixture
def cells() -> dict[str, Cell]:
    profile = parse_profile(tomllib.loads(PROFILE), "small.toml")
    return {cell.id: cell for cell in profile.cells()}


class Terminal:
    """What `ProgressLine` uses of pytest's config, with a terminal of ``width`` columns."""

    def __init__(self, isatty: bool = True, width: int = 100) -> None:
        self.text = io.StringIO()
        writer = SimpleNamespace(write=lambda text, flush: self.text.write(text), fullwidth=width)
        plugins: dict[str, Any] = {
            "terminalreporter": SimpleNamespace(isatty=isatty, _tw=writer),
            "capturemanager": SimpleNamespace(global_and_fixture_disabled=nullcontext),
        }
        self.pluginmanager = SimpleNamespace(getplugin=plugins.get)

    def lines(self) -> list[str]:
        return self.text.getvalue().split(CLEAR_LINE)[1:]


def test_it_shows_cell_arm_round_and_share(cells: dict[str, Cell]) -> None:
    terminal = Terminal()
    line = ProgressLine(terminal, 4, 3)  # type: ignore[arg-type]
    cell = cells["tiny/ngram-k3/gsm8k/bs2"]
    for arm in ("warm-up", "control", "arm", "arm", "control", "control", "arm"):
        line.round_done(cell, arm, ROUND)
    line.round_done(cells["tiny/none/sharegpt/bs2"], "arm", ROUND)
    first, *_, last, other = terminal.lines()
    assert first.startswith("[" + "-" * 20 + "] 1/4 tiny/ngram-k3/gsm8k/bs2  warm-up 0/6  0 tok/s")
    assert last.startswith("[#####" + "-" * 15 + "] 1/4 tiny/ngram-k3/gsm8k/bs2  arm 6/6")
    assert last.endswith(" left")
    assert other.startswith("[##########----------] 2/4 tiny/none/sharegpt/bs2  arm 1/1")


def test_it_shows_engines_as_they_start(cells: dict[str, Cell]) -> None:
    terminal = Terminal()
    host = FakeEngines().make(cells["tiny/ngram-k3/gsm8k/bs2"].scenario)
    ProgressLine(terminal, 1, 1).engine_changed(host, "starting")  # type: ignore[arg-type]
    assert terminal.lines() == ["engine tiny/ngram-k3: starting"]


def test_it_keeps_to_one_line_and_clears_it(cells: dict[str, Cell]) -> None:
    terminal = Terminal(width=30)
    line = ProgressLine(terminal, 1, 3)  # type: ignore[arg-type]
    line.round_done(cells["tiny/ngram-k3/gsm8k/bs2"], "arm", ROUND)
    line.clear()
    shown, cleared = terminal.lines()
    assert len(shown) == 29
    assert cleared == ""


def test_it_is_silent_without_a_terminal(cells: dict[str, Cell]) -> None:
    terminal = Terminal(isatty=False)
    line = ProgressLine(terminal, 1, 3)  # type: ignore[arg-type]
    line.round_done(cells["tiny/ngram-k3/gsm8k/bs2"], "arm", ROUND)
    line.clear()
    assert terminal.text.getvalue() == ""
