"""How commands print records: a table for people, json and csv for programs, on stdout."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

from draftgate.reporting.clean import clean

Record = Mapping[str, Any]

_LONGEST = 2000  # characters of a table's cell: far longer than any id or reason


class Format(StrEnum):
    """The formats of a command that prints a list."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


FormatOption = Annotated[Format, typer.Option("--format", help="How to print.")]
"""The option of a command that prints a list."""


@dataclass(frozen=True)
class Column:
    """A key of the records; numbers stand right-aligned."""

    key: str
    numeric: bool = False


def emit(records: Sequence[Record], columns: Sequence[Column], output: Format) -> None:
    """Print ``records`` to stdout. A None is null in json and empty elsewhere."""
    match output:
        case Format.JSON:
            print(json.dumps(list(records), indent=2, allow_nan=False))
        case Format.CSV:
            _print_csv(records, columns)
        case Format.TABLE:
            print(_table(records, columns))


def duration(seconds: float) -> str:
    """Such as ``45 s``, ``6 min``, ``2 h 05 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min"


def _print_csv(records: Sequence[Record], columns: Sequence[Column]) -> None:
    writer = csv.DictWriter(sys.stdout, [c.key for c in columns], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)


def _table(records: Sequence[Record], columns: Sequence[Column]) -> str:
    """Plain aligned text: a terminal's width must not cut ids, and importing rich costs time."""
    rows = [[column.key for column in columns]]
    rows += [[_text(record[column.key]) for column in columns] for record in records]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    rows.insert(1, ["-" * width for width in widths])
    return "\n".join(_line(row, columns, widths) for row in rows)


def _line(cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
    padded = (
        cell.rjust(width) if column.numeric else cell.ljust(width)
        for cell, column, width in zip(cells, columns, widths, strict=True)
    )
    return "  ".join(padded).rstrip()


def _text(value: Any) -> str:
    """On one line; names come from files that anyone may have written."""
    return "" if value is None else clean(value, _LONGEST)
