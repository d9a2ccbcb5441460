"""The final table on the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from draftgate.reporting.rows import Row
from draftgate.verdict.kinds import VerdictKind

NOT_JUDGED = "not judged"

STYLES = {
    VerdictKind.OK: "green",
    VerdictKind.IMPROVED: "green",
    VerdictKind.UNBASELINED: "yellow",
    VerdictKind.UNSTABLE: "yellow",
    VerdictKind.UNDERPOWERED: "yellow",
    VerdictKind.BASELINE_DRIFT: "yellow",
}


def table(rows: Sequence[Row]) -> Table:
    """One line a cell, in the order given."""
    result = Table(box=None, pad_edge=False, header_style="bold")
    result.add_column("cell", no_wrap=True)
    for name in ("tok/s", "speedup", "AL", "tok/step"):
        result.add_column(name, justify="right", no_wrap=True)
    result.add_column("verdict", no_wrap=True)
    for row in rows:
        kind = row.verdict
        style = STYLES.get(kind, "bold red") if kind else "dim"
        result.add_row(
            row.cell,
            _number(row.output_throughput, 0),
            _speedup(row),
            _number(row.acceptance_length, 2),
            _number(row.tokens_per_step, 2),
            Text(kind.value if kind else NOT_JUDGED, style=style),
        )
    return result


def summary(rows: Sequence[Row], notes: Iterable[str]) -> RenderableType:
    """Table and count of the cells' verdicts, where there are cells; then the notes."""
    said = [Text(note) for note in notes]
    if not rows:
        return Group(*said)
    counts = Counter(row.verdict.value if row.verdict else NOT_JUDGED for row in rows)
    total = ", ".join(f"{n} {kind}" for kind, n in counts.items())
    return Group(table(rows), Text(""), Text(f"{len(rows)} cells: {total}"), *said)


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _speedup(row: Row) -> str:
    if row.speedup is None:
        return "-"
    noise = "" if row.speedup_noise is None else f" ±{100 * row.speedup_noise:.0f} %"
    return f"{row.speedup:.2f}{noise}"
