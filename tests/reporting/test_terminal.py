from __future__ import annotations

import io

import pytest
from report_examples import row
from rich.console import Console

from draftgate.reporting.rows import Row
from draftgate.reporting.terminal import summary
from draftgate.verdict.kinds import VerdictKind


def shown(rows: list[Row], *notes: str, color: bool = False) -> list[str]:
    text = io.StringIO()
    console = Console(file=text, width=100, color_system="standard" if color else None)
    console.print(summary(rows, notes), highlight=False)
    return [line.rstrip() for line in text.getvalue().splitlines()]


def test_a_line_a_cell_a_count_and_the_notes():
    lines = shown(
        [
            row("a/ngram-k3/gsm8k/bs2", VerdictKind.REGRESSED),
            row("a/eagle3-k3/gsm8k/bs16", VerdictKind.OK, speedup_noise=0.034),
            row("b/eagle3-k3/gsm8k/bs16", VerdictKind.OK),
        ],
        "results: here",
    )
    assert lines == [
        "cell                    tok/s    speedup    AL  tok/step  verdict",
        "a/ngram-k3/gsm8k/bs2     1234  1.50 ±0 %  2.50      2.25  REGRESSED",
        "a/eagle3-k3/gsm8k/bs16   1234  1.50 ±3 %  2.50      2.25  OK",
        "b/eagle3-k3/gsm8k/bs16   1234  1.50 ±0 %  2.50      2.25  OK",
        "",
        "3 cells: 1 REGRESSED, 2 OK",
        "results: here",
    ]


def test_what_does_not_exist_is_a_dash():
    nothing = Row("a/none/gsm8k/bs2", None, None, None, None, None, None)
    line = shown([nothing])[1]
    assert line.split() == ["a/none/gsm8k/bs2", "-", "-", "-", "-", "not", "judged"]


def test_without_cells_there_are_the_notes_alone():
    assert shown([], "results: here") == ["results: here"]


def test_square_brackets_are_text():
    assert shown([], "see [bold]this[/bold]") == ["see [bold]this[/bold]"]


@pytest.mark.parametrize("kind", list(VerdictKind))
def test_every_verdict_has_its_colour(kind):
    red, yellow, green = "\x1b[1;31m", "\x1b[33m", "\x1b[32m"
    line = shown([row("a/none/gsm8k/bs2", kind)], color=True)[1]
    good = {VerdictKind.OK: green, VerdictKind.IMPROVED: green}
    quiet = dict.fromkeys(
        [
            VerdictKind.UNBASELINED,
            VerdictKind.UNSTABLE,
            VerdictKind.UNDERPOWERED,
            VerdictKind.BASELINE_DRIFT,
        ],
        yellow,
    )
    assert f"{({**good, **quiet}).get(kind, red)}{kind.value}" in line
