"""The report as Markdown: tables, without the figures' pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from draftgate.reporting.clean import LONGEST, clean, number
from draftgate.reporting.markdown_text import table
from draftgate.reporting.report.content import Report
from draftgate.reporting.report.panel import Panel

MOST_ROWS = 60
LONGEST_REMARK = 2000


def render_markdown(report: Report) -> str:
    """One document; a figure of more than `MOST_ROWS` rows is described without them."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield from ("# draftgate report", "", f"{report.headline}.", "")
    if report.failing:
        yield from (f"- {_text(verdict.line())}" for verdict in report.failing)
        yield ""
    yield from ("## Verdicts", "")
    yield from _table(
        [
            *("cell", "verdict", "tok/s", "speed-up", "± % of it", "acceptance length"),
            *("tokens/step", "against the baseline"),
        ],
        [
            [
                row.cell,
                row.verdict.value if row.verdict else "not judged",
                number(row.output_throughput),
                number(row.speedup),
                number(row.speedup_noise and 100 * row.speedup_noise),
                number(row.acceptance_length),
                number(row.tokens_per_step),
                row.reason,
            ]
            for row in report.rows
        ],
    )
    if report.advice:
        yield from ("## Advice", "")
        for advice in report.advice:
            yield (
                f"- {_text(advice.target)}, {_text(advice.workload)}, batch {advice.batch_size}: "
                f"**{_text(advice.best.variant)}** ({advice.best.speedup:.2f}, "
                f"{100 * advice.margin.value:+.1f} % over {_text(advice.following.variant)}, 95 % "
                f"{100 * advice.margin.low:+.1f} to {100 * advice.margin.high:+.1f}); "
                f"{_text(advice.reason)}"
            )
        yield ""
    for section in report.sections:
        yield from (f"## {section.title}", "")
        for panel in section.panels:
            yield from _panel(panel)
    yield from ("## Fingerprint and provenance", "")
    yield from _table(["", ""], [[name, clean(value)] for name, value in report.facts.items()])


def _panel(panel: Panel) -> Iterator[str]:
    yield from (f"### {panel.title}", "")
    yield f"Unit: {_text(panel.unit)}. n: {_text(panel.n)}. Noise: {_text(panel.noise)}."
    if panel.remark:
        yield _text(panel.remark, LONGEST_REMARK)
    yield ""
    if len(panel.records) > MOST_ROWS:
        yield from (f"{len(panel.records)} values: see the HTML or JSON report.", "")
        return
    rows = [[number(record.get(key)) for key in panel.columns] for record in panel.records]
    yield from _table(list(panel.columns.values()), rows)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield table([_text(cell) for cell in header], [[_text(cell) for cell in row] for row in rows])
    yield ""


def _text(value: str, longest: int = LONGEST) -> str:
    """Cleaned, and without what Markdown or its HTML would read as more than text."""
    escaped = clean(value, longest).replace("&", "&amp;").replace("<", "&lt;")
    for character in "\\`*[]|":
        escaped = escaped.replace(character, f"\\{character}")
    return escaped
