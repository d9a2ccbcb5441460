"""The report as one HTML file that needs nothing else: styles, library and data are inside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from draftgate.reporting.report.clean import clean, number
from draftgate.reporting.report.content import Report
from draftgate.reporting.report.errors import ReportError
from draftgate.reporting.report.panel import Heat, Panel
from draftgate.reporting.report.plotly_figures import Palette, Palettes, figures, plotly_javascript
from draftgate.verdict.kinds import ALWAYS_FAILING, VerdictKind

TEMPLATE = "page.html.j2"
MOST_ROWS = 200

_GOOD = frozenset({VerdictKind.OK, VerdictKind.IMPROVED})


@dataclass(frozen=True)
class Plot:
    """``index``: of its data in the page's list."""

    heading: str
    index: int


@dataclass(frozen=True)
class Shown:
    """A panel made ready for the template: text, still to be escaped by it."""

    panel: Panel
    plots: Sequence[Plot]
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left_out: int


def render_html(report: Report) -> str:
    """The page; raises ReportError without jinja2 or plotly."""
    template = _template()
    data: list[Mapping[str, Any]] = []
    palettes: Palettes = defaultdict(Palette)
    sections = [
        (section.title, [_shown(panel, palettes, data) for panel in section.panels])
        for section in report.sections
    ]
    page = template.render(
        report=report,
        sections=sections,
        facts={clean(name): clean(value) for name, value in report.facts.items()},
        kinds={row.cell: _css_class(row.verdict) for row in report.rows},
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
    matrix = isinstance(panel.chart, Heat)
    rows = [] if matrix and len(panel.records) > MOST_ROWS else list(_rows(panel))
    return Shown(
        panel,
        plots,
        tuple(panel.columns.values()),
        rows,
        len(panel.records) - len(rows) if rows else 0,
    )


def _rows(panel: Panel) -> Iterator[tuple[str, ...]]:
    for record in panel.records[:MOST_ROWS]:
        yield tuple(number(record.get(key)) for key in panel.columns)


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
