"""Rows of a dataset, whether they come from the hub or from a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from draftgate.workload.errors import WorkloadError
from draftgate.workload.schemas import Row, Schema


class Rows(Protocol):
    """What is needed of `datasets.Dataset`; a list of dicts has it too."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Row: ...


@dataclass(frozen=True)
class Table:
    """``origin`` names the rows' file or dataset in messages."""

    origin: str
    columns: Sequence[str]
    rows: Rows

    def require(self, schema: Schema, workload: str) -> None:
        """Raise `WorkloadError` unless all columns of ``schema`` are there."""
        missing = [column for column in schema.columns if column not in self.columns]
        if missing:
            raise WorkloadError(
                f"workload {workload}: {self.origin} has no column {_quoted(missing)}\n"
                f"  found:   {_quoted(self.columns) or 'no column at all'}\n"
                f"  allowed: the schema of the hub's {schema.dataset}: {_quoted(schema.columns)}\n"
                "  remedy:  rename the file's columns to these"
            )


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)
