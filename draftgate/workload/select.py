"""Which rows become prompts: a seeded shuffle, of which the first usable ones are taken.

More prompts therefore extend a smaller selection; they never replace it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from random import Random

from draftgate.workload.errors import WorkloadError
from draftgate.workload.frozen import Prompt
from draftgate.workload.schemas import Schema
from draftgate.workload.table import Table


def select(
    workload: str, schema: Schema, table: Table, wanted: int, seed: int
) -> tuple[Prompt, ...]:
    """``wanted`` prompts, or all of a dataset that is smaller by nature.

    Raises `WorkloadError` where the table has too few usable rows.
    """
    table.require(schema, workload)
    needed = wanted if schema.rows is None else min(wanted, schema.rows)
    prompts = tuple(islice(_usable(workload, schema, table, seed), needed))
    if len(prompts) < needed:
        raise WorkloadError(
            f"workload {workload}: {table.origin} has too few prompts\n"
            f"  found:   {len(prompts)} usable of {len(table.rows)} rows, {needed} are asked for\n"
            f"  remedy:  lower the profile's prompts to {len(prompts) or 'what a file holds'}, "
            "or use a larger source"
        )
    return prompts


def prompt_id(workload: str, row: int) -> str:
    """Such as ``gsm8k-0007``."""
    return f"{workload}-{row:04d}"


def _usable(workload: str, schema: Schema, table: Table, seed: int) -> Iterator[Prompt]:
    order = list(range(len(table.rows)))
    Random(f"{seed}/{workload}").shuffle(order)
    for row in order:
        if text := schema.prompt(table.rows[row]):
            yield Prompt(prompt_id=prompt_id(workload, row), text=text)
