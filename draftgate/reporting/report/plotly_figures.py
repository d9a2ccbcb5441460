"""Panels as Plotly figures, one a facet; plain JSON comes out, so that the page draws them."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from draftgate.analysis.advice import CONTROL
from draftgate.reporting.clean import LONGEST_LABEL, clean
from draftgate.reporting.report.errors import ReportError
from draftgate.reporting.report.panel import (
    Bars,
    Boxes,
    Heat,
    Lines,
    Panel,
    Points,
    Record,
    Table,
)

_VARIANTS = ("#ea580c", "#16a34a", "#9333ea", "#0e7490", "#1d4ed8", "#be123c", "#ca8a04", "#db2777")
_OTHERS = ("#334155", "#94a3b8", "#fbbf24", "#7dd3fc", "#f9a8d4", "#a3e635", "#c4b5fd", "#78350f")
_OF_VARIANTS = ("variant", "proposer")  # keys of records that share colours
_DASHES = ("solid", "dash", "dot", "dashdot")
_NEUTRAL = "#737373"
_MISSING = "#d4d4d4"
_SEQUENTIAL = "Viridis"
_DIVERGING = [[0, "#b2182b"], [0.5, "#f7f7f7"], [1, "#2166ac"]]
_MARGIN = {"l": 56, "r": 12, "t": 12, "b": 48}
_HEIGHT = 320
_BESIDE = 1.05  # factor between series on a logarithmic axis, so that their whiskers stand apart
_ROOM = 1.5  # factor beyond the first and last value of such an axis
_MOST_TICKS = 12
_ROW_HEIGHT = 12
_AROUND = 0.05  # of the range, above and below


class Palette:
    """A colour a name; they repeat after the eighth. ``ngram`` has that of ``ngram-k3``."""

    def __init__(self, colours: Sequence[str]) -> None:
        self._free = colours
        self._colours = {CONTROL: _NEUTRAL}

    def __getitem__(self, name: str) -> str:
        known = [other for other in self._colours if other.startswith(f"{name}-k")]
        if name not in self._colours and known:
            return self._colours[known[0]]
        used = len(self._colours) - 1
        return self._colours.setdefault(name, self._free[used % len(self._free)])


class Palettes:
    """By the records' key that is coloured: a variant has one colour, and no other kind of thing
    has it, in all of a page."""

    def __init__(self) -> None:
        self._variants = Palette(_VARIANTS)
        self._others: dict[str, Palette] = {}

    def __getitem__(self, key: str) -> Palette:
        if key in _OF_VARIANTS:
            return self._variants
        return self._others.setdefault(key, Palette(_OTHERS))


def figures(panel: Panel, palettes: Palettes) -> list[tuple[str, dict[str, Any]]]:
    """(heading, figure as JSON-ready data) of each facet; empty for a table.

    Raises ReportError without plotly.
    """
    if isinstance(panel.chart, Table):
        return []
    draw = _Drawing(_plotly(), panel, palettes)
    return [
        (facet, json.loads(draw.figure(records).to_json()))
        for facet, records in _groups(panel.records, panel.chart.facet)
    ]


def plotly_javascript() -> str:
    """The library that draws them, to be inlined once; raises ReportError without plotly."""
    _plotly()
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


class _Drawing:
    """Draws one panel's facets."""

    def __init__(self, plotly: Any, panel: Panel, palettes: Palettes) -> None:
        self._go = plotly
        self._panel = panel
        self._palettes = palettes

    def figure(self, records: Sequence[Record]) -> Any:
        chart = self._panel.chart
        assert not isinstance(chart, Table)
        draw: dict[type, Callable[..., Any]] = {
            Lines: self._lines,
            Bars: self._bars,
            Heat: self._heat,
            Boxes: self._boxes,
            Points: self._points,
        }
        figure = draw[type(chart)](chart, records)
        figure.update_layout(
            template="plotly_white",
            autosize=True,
            margin=_MARGIN,
            legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
            showlegend=isinstance(chart, Lines | Bars | Points),
            font={"size": 12},
        )
        figure.update_xaxes(automargin=True)
        figure.update_yaxes(automargin=True)
        if isinstance(chart, Lines | Boxes) and chart.same_y:
            figure.update_yaxes(range=self._span(chart))
        if (level := getattr(chart, "reference", None)) is not None:
            figure.add_hline(y=level, line={"color": "#737373", "dash": "dot", "width": 1})
        return figure

    def _lines(self, chart: Lines, records: Sequence[Record]) -> Any:
        figure = self._empty(chart.x, chart.y)
        groups = list(_groups(records, chart.series))
        for place, (name, group) in enumerate(groups):
            shift = _BESIDE ** (place - (len(groups) - 1) / 2) if chart.log_x else 1
            figure.add_scatter(
                name=_label(name),
                x=[r[chart.x] * shift for r in group],
                y=[r[chart.y] for r in group],
                error_y=_whiskers(chart, group),
                mode="lines+markers",
                line=self._stroke(chart, group[0]),
                customdata=[r[chart.x] for r in group],
                hovertemplate="%{customdata}: %{y:.4g}",
            )
        ticks = sorted({r[chart.x] for r in records})
        if chart.log_x:
            ends = [math.log10(ticks[0] / _ROOM), math.log10(ticks[-1] * _ROOM)]
            figure.update_xaxes(type="log", range=ends)
        if len(ticks) <= _MOST_TICKS:
            figure.update_xaxes(tickvals=ticks, ticktext=[str(tick) for tick in ticks])
        return figure

    def _stroke(self, chart: Lines, record: Record) -> dict[str, str]:
        hue = chart.hue or chart.series
        colour = self._palettes[hue][record[hue]]
        if chart.dash is None:
            return {"color": colour}
        strokes = list(dict.fromkeys(r[chart.dash] for r in self._panel.records))
        return {"color": colour, "dash": _DASHES[strokes.index(record[chart.dash]) % len(_DASHES)]}

    def _span(self, chart: Lines | Boxes) -> tuple[float, float]:
        """Of all facets' values and whiskers, with some room."""
        value = chart.y if isinstance(chart, Lines) else chart.value
        keys = (value, "low", "high")
        seen = [v for r in self._panel.records for key in keys if (v := r.get(key)) is not None]
        room = _AROUND * (max(seen) - min(seen)) or _AROUND
        return min(seen) - room, max(seen) + room

    def _bars(self, chart: Bars, records: Sequence[Record]) -> Any:
        figure = self._empty(None, chart.y)
        for name, group in _groups(records, chart.series):
            figure.add_bar(
                name=_label(name),
                x=[_label(r[chart.category]) for r in group],
                y=[r[chart.y] for r in group],
                error_y=_whiskers(chart, group),
                marker={"color": self._palettes[chart.series][name]},
            )
        figure.update_layout(barmode="stack" if chart.stacked else "group")
        return figure

    def _heat(self, chart: Heat, records: Sequence[Record]) -> Any:
        columns, lines = (
            list(dict.fromkeys(r[key] for r in records)) for key in (chart.x, chart.y)
        )
        values = {(r[chart.y], r[chart.x]): r[chart.value] for r in records}
        least, most = self._range(chart)
        figure = self._empty(None, None)
        figure.add_heatmap(
            z=[[values.get((line, column)) for column in columns] for line in lines],
            x=[_label(column) for column in columns],
            y=[_label(line) for line in lines],
            colorscale=_DIVERGING if chart.signed else _SEQUENTIAL,
            zmin=-most if chart.signed else least,
            zmax=most,
            texttemplate="%{z:.0f}" if chart.written else None,
            colorbar={"title": {"text": self._panel.columns[chart.value], "side": "right"}},
            hoverongaps=False,
        )
        figure.update_layout(plot_bgcolor=_MISSING)
        figure.update_xaxes(showgrid=False)
        figure.update_yaxes(showgrid=False)
        figure.update_layout(height=max(_HEIGHT, 90 + _ROW_HEIGHT * len(lines)))
        figure.update_yaxes(autorange="reversed", type="category", automargin=True)
        figure.update_xaxes(type="category", title=self._panel.columns[chart.x])
        return figure

    def _range(self, chart: Heat) -> tuple[float, float]:
        """Of all facets together; of the values' size where they are signed."""
        values = [v for r in self._panel.records if (v := r[chart.value]) is not None] or [0]
        most = max(map(abs, values)) if chart.signed else max(values)
        return min(values), most

    def _boxes(self, chart: Boxes, records: Sequence[Record]) -> Any:
        figure = self._empty(None, chart.value)
        palette = self._palettes[chart.category]
        for name, group in _groups(records, chart.category):
            figure.add_box(
                name=_label(name),
                y=[r[chart.value] for r in group],
                boxpoints="outliers",
                marker={"color": palette[name]},
                line={"width": 1.5},
            )
        return figure

    def _points(self, chart: Points, records: Sequence[Record]) -> Any:
        figure = self._empty(chart.x, chart.y)
        for name, group in _groups(records, chart.series):
            figure.add_scatter(
                name=_label(name),
                x=[r[chart.x] for r in group],
                y=[r[chart.y] for r in group],
                mode="markers",
                marker={"color": self._palettes[chart.series][name]},
            )
        return figure

    def _empty(self, x: str | None, y: str | None) -> Any:
        """A figure with its axes named as the table names the columns."""
        figure = self._go.Figure()
        figure.update_layout(
            height=_HEIGHT,
            xaxis_title=self._panel.columns.get(x) if x else None,
            yaxis_title=self._panel.columns.get(y) if y else None,
        )
        return figure


def _whiskers(chart: Lines | Bars, records: Sequence[Record]) -> dict[str, Any] | None:
    """From ``low`` to ``high``; none at a record that does not know its noise."""
    if not chart.noisy:
        return None
    return {
        "type": "data",
        "symmetric": False,
        "array": [0 if r["high"] is None else r["high"] - r[chart.y] for r in records],
        "arrayminus": [0 if r["low"] is None else r[chart.y] - r["low"] for r in records],
        "thickness": 1,
        "width": 3,
    }


def _groups(records: Sequence[Record], key: str) -> Iterator[tuple[str, list[Record]]]:
    """Records by the value of ``key``, in the order in which the values first come."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        groups.setdefault(record[key], []).append(record)
    yield from groups.items()


def _label(value: Any) -> str:
    """Plotly reads a little HTML in labels, so that text must be escaped for it too."""
    return html.escape(clean(value, LONGEST_LABEL), quote=False)


def _plotly() -> Any:
    try:
        import plotly.graph_objects as plotly
    except ImportError:
        raise ReportError("the HTML report needs plotly; install draftgate[report]") from None
    return plotly
