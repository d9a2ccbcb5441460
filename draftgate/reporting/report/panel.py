"""`Panel`: one figure of the report as data. It cannot be made without its unit, n and noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

Record = Mapping[str, Any]
Item = TypeVar("Item")

MOST_LINES = 48


@dataclass(frozen=True)
class Lines:
    """A line for each value of ``series``, a plot for each of ``facet``.

    ``noisy``: whiskers from the records' ``low`` to ``high``. ``reference``: a dotted line.
    ``hue``, ``dash``: keys whose values choose a line's colour and stroke, where not the series
    does. ``same_y``: all facets have one range.
    """

    x: str
    y: str
    series: str
    facet: str
    noisy: bool = False
    log_x: bool = False
    reference: float | None = None
    hue: str | None = None
    dash: str | None = None
    same_y: bool = False


@dataclass(frozen=True)
class Bars:
    """Bars side by side, or ``stacked``, at every ``category``; the rest as in `Lines`."""

    category: str
    y: str
    series: str
    facet: str
    noisy: bool = False
    stacked: bool = False
    reference: float | None = None


@dataclass(frozen=True)
class Heat:
    """A matrix of ``value``, grey where it is None; all facets share one scale.

    ``signed``: 0 is the middle of its colours. ``written``: each value stands in its field.
    """

    x: str
    y: str
    value: str
    facet: str
    signed: bool = False
    written: bool = False


@dataclass(frozen=True)
class Boxes:
    """Box plots of ``value`` at every ``category``; all facets have one range."""

    category: str
    value: str
    facet: str
    same_y: bool = True


@dataclass(frozen=True)
class Points:
    """A point a record."""

    x: str
    y: str
    series: str
    facet: str
    reference: float | None = None


@dataclass(frozen=True)
class Table:
    """No plot: the records are the figure."""


Chart = Lines | Bars | Heat | Boxes | Points | Table


@dataclass(frozen=True)
class Panel:
    """``unit`` of the values, ``n``: what was counted, ``noise``: what the error shows.

    ``columns``: keys of ``records`` with their headings, for tables. ``remark``: how to read it.
    """

    key: str
    title: str
    unit: str
    n: str
    noise: str
    chart: Chart
    columns: Mapping[str, str]
    records: Sequence[Record]
    remark: str = ""

    def __post_init__(self) -> None:
        """Raise ValueError on a figure that does not say what it shows."""
        if not (self.unit and self.n and self.noise):
            raise ValueError(f"panel {self.key}: a figure states its unit, n and noise")


@dataclass(frozen=True)
class Section:
    """A heading and its panels, at least one."""

    title: str
    panels: Sequence[Panel]


def interval(
    value: float, half_width: float | None, least: float, most: float
) -> dict[str, float | None]:
    """``low`` and ``high`` of a noisy record, both possible; None where the noise is unknown."""
    if half_width is None:
        return {"low": None, "high": None}
    return {"low": max(least, value - half_width), "high": min(most, value + half_width)}


def thinned(items: Sequence[Item], most: int = MOST_LINES) -> Sequence[Item]:
    """At most ``most`` of ``items``, evenly drawn: a matrix of 500 lines is taller than a page."""
    return items[:: -(-len(items) // most)] if items else items


def counted(number: int, what: str) -> str:
    """Such as ``1 request``, ``32 requests``."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def span(numbers: Sequence[int], what: str) -> str:
    """Such as ``3 rounds`` or ``2 to 32 requests``."""
    low, high = min(numbers, default=0), max(numbers, default=0)
    return counted(high, what) if low == high else f"{low} to {counted(high, what)}"
