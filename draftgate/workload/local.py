"""Rows from a local file in the hub's own schema."""

from __future__ import annotations

import glob
from pathlib import Path

from draftgate.workload.errors import WorkloadError
from draftgate.workload.table import Table

# File suffix -> the builder of `datasets` that reads it.
_BUILDERS = {".json": "json", ".jsonl": "json", ".csv": "csv", ".parquet": "parquet"}


def file_table(workload: str, path_text: str) -> Table:
    """All rows of a json, jsonl, csv or parquet file. Raises `WorkloadError`.

    A relative path starts at the working directory.
    """
    from datasets import load_dataset

    path = Path(path_text).expanduser()
    builder = _builder(workload, path)
    try:
        # Streaming, because the other way writes a copy of the file into the user's cache.
        stream = load_dataset(
            builder, data_files=glob.escape(str(path)), split="train", streaming=True
        )
        rows = list(stream)
    except Exception as error:  # datasets raises many kinds: parsing, types, encoding
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise WorkloadError(
            f"workload {workload}: {path} cannot be read as {builder}\n"
            f"  found:   {type(error).__name__}: {reason}\n"
            "  remedy:  correct the file, or name another one in the workload's path"
        ) from error
    return Table(str(path), list(rows[0]) if rows else [], rows)


def _builder(workload: str, path: Path) -> str:
    builder = _BUILDERS.get(path.suffix.lower())
    if builder is None:
        raise WorkloadError(
            f"workload {workload}: {path} has an unknown file type\n"
            f"  found:   {path.suffix or 'no suffix'}\n"
            f"  allowed: {', '.join(_BUILDERS)}\n"
            "  remedy:  convert the file, or correct the workload's path"
        )
    if not path.is_file():
        raise WorkloadError(
            f"workload {workload}: {path} is no file\n"
            f"  found:   {'a folder' if path.is_dir() else 'nothing there'}\n"
            "  remedy:  correct the workload's path; a relative one starts at the working directory"
        )
    return builder
