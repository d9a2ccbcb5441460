"""The report as one HTML file that needs nothing else: styles, library and data are inside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from draftgate.analysis.advice import Advice
from draftgate.reporting.clean import clean, number
from draftgate.reporting.report.content import Report
from draftgate.reporting.report.errors import ReportError
from draftgate.reporting.report.meanings import MEANINGS
from draftgate.reporting.report.panel import Heat, Panel
from draftgate.reporting.report.plotly_figures import Palettes, figures, plotly_javascript
from draftgate.verdict.kinds import ALWAYS_FAILING, VerdictKind

TEMPLATE = "page.html.j2"
MOST_ROWS = 200
MOST_MATRICES = 6  # more of a panel's are folded away, until one opens them

_GOOD = frozenset({VerdictKind.OK, VerdictKind.IMPROVED})


@dataclass(frozen=True)
class Plot:
    """``index``: of its data in the page's list."""

    heading: str
    index: int


@dataclass(frozen=True)
class Shown:
    """A panel made ready for the template: text, still to be escaped by it.

    ``rows``: (text, whether it is a number).
    """

    panel: Panel
    plots: Sequence[Plot]
    header: Sequence[str]
    rows: Sequence[Sequence[tuple[str, bool]]]
    left_out: int
    folded: bool


def render_html(report: Report) -> str:
    """The page; raises ReportError without jinja2 or plotly."""
    template = _template()
    data: list[Mapping[str, Any]] = []
    palettes = Palettes()
    sections = [
        (section.title, [_shown(panel, palettes, data) for panel in section.panels])
        for section in report.sections
    ]
    page = template.render(
        report=report,
        sections=sections,
        facts={clean(name): clean(value) for name, value in report.facts.items()},
        kinds={row.cell: _css_class(row.verdict) for row in report.rows},
        advice=[(item, *_judged(report, item)) for item in report.advice],
        meanings=_meanings(report),
        rounds=_rounds(report),
        figures=data,
        clean=clean,
        number=number,
        library=plotly_javascript() if data else "",
    )
    return str(page)


def _shown(panel: Panel, palettes: Palettes, data: list[Mapping[str, Any]]) -> Shown:
    plots = []
    for heading, figure in figures(panel, palettes):
        plots.append(Plot(clean(heading), len(data)))
        data.append(figure)
    chart, matrix = panel.chart, isinstance(panel.chart, Heat)
    told = [r for r in panel.records if not isinstance(chart, Heat) or r[chart.value] is not None]
    columns = [key for key in panel.columns if any(r.get(key) is not None for r in told)]
    rows = [] if matrix and len(told) > MOST_ROWS else list(_rows(told[:MOST_ROWS], columns))
    return Shown(
        panel,
        plots,
        tuple(panel.columns[key] for key in columns),
        rows,
        len(told) - len(rows) if rows else 0,
        matrix and len(plots) > MOST_MATRICES,
    )


def _rows(
    records: Sequence[Mapping[str, Any]], columns: Sequence[str]
) -> Iterator[tuple[tuple[str, bool], ...]]:
    for record in records:
        values = [record.get(key) for key in columns]
        yield tuple((number(value), not isinstance(value, str)) for value in values)


def _judged(report: Report, item: Advice) -> tuple[VerdictKind | None, str]:
    """The verdict on the cell that an advice rests on, and its class of style."""
    cell = f"{item.target}/{item.best.variant}/{item.workload}/bs{item.batch_size}"
    kind = next((row.verdict for row in report.rows if row.cell == cell), None)
    sure = item.margin.clear and kind in _GOOD
    return kind, "good" if sure else "doubt"


def _meanings(report: Report) -> list[tuple[VerdictKind, str]]:
    """Of the kinds that the report shows."""
    shown = {row.verdict for row in report.rows} | {v.verdict for v in report.failing}
    return [(kind, meaning) for kind, meaning in MEANINGS.items() if kind in shown]


def _rounds(report: Report) -> str:
    panel = next((p for s in report.sections for p in s.panels if p.key == "throughput"), None)
    return f"{panel.n}, where it is timed" if panel else "no cell is timed"


def _css_class(kind: VerdictKind | None) -> str:
    if kind is None:
        return "none"
    return "good" if kind in _GOOD else "bad" if kind in ALWAYS_FAILING else "doubt"


def _template() -> Any:
    try:
        import jinja2
    except ImportError:
        raise ReportError("the HTML report needs jinja2; install draftgate[report]") from None
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    source = resources.files("draftgate.reporting.report").joinpath(TEMPLATE)
    return environment.from_string(source.read_text(encoding="utf-8"))
