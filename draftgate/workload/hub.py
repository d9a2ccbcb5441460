"""Rows from the hub, through `datasets` and its cache."""

from __future__ import annotations

import os

from draftgate.workload.errors import WorkloadError
from draftgate.workload.schemas import Schema
from draftgate.workload.table import Table

OFFLINE_VARIABLE = "HF_HUB_OFFLINE"


def hub_table(workload: str, schema: Schema, revision: str | None) -> Table:
    """The dataset's split at ``revision`` (None: the newest). Raises `WorkloadError`.

    With HF_HUB_OFFLINE set, `datasets` reads its cache and asks no network.
    """
    from datasets import load_dataset

    try:
        dataset = load_dataset(
            schema.dataset,
            schema.config,
            data_files=schema.data_file,
            split=schema.split,
            revision=revision,
        )
    except Exception as error:  # datasets raises many kinds: network, auth, cache, parsing
        raise WorkloadError(_message(workload, schema, revision, error)) from error
    return Table(schema.dataset, dataset.column_names, dataset)


def _message(workload: str, schema: Schema, revision: str | None, error: Exception) -> str:
    name = schema.dataset + (f" ({schema.config})" if schema.config else "")
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    lines = [
        f"workload {workload}: the hub's dataset {name}, revision {revision or 'main'}, "
        "cannot be loaded",
        f"  found:   {type(error).__name__}: {reason}",
        f"  remedy:  {_remedy(schema)}; or load a local copy in the dataset's own schema: "
        'source = "file", path = "..."',
    ]
    return "\n".join(lines)


def _remedy(schema: Schema) -> str:
    if os.environ.get(OFFLINE_VARIABLE, "").upper() in ("1", "ON", "YES", "TRUE"):
        steps = f"{OFFLINE_VARIABLE} is set, so only the local cache is read: unset it to download"
    else:
        steps = f"check the network (set {OFFLINE_VARIABLE}=1 to read the local cache only)"
    if schema.gated:
        steps += "; the dataset is gated: accept its terms on the hub and set HF_TOKEN"
    return steps
