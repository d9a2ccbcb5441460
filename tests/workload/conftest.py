from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RowMaker = Callable[[str, int], list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep `datasets` out of the user's cache."""
    import datasets.config

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


@pytest.fixture
def rows_of() -> RowMaker:
    """``rows_of(workload, n)``: distinct rows in the hub's own schema, with all its columns."""
    return lambda workload, n: [_ROW[workload](i) for i in range(n)]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[list[dict[str, Any]], str], Path]:
    """``write(rows, kind)``: a json (one array), jsonl, csv or parquet file of these rows."""

    def write_rows(rows: list[dict[str, Any]], kind: str) -> Path:
        path = tmp_path / f"rows.{kind}"
        if kind == "json":
            path.write_text(json.dumps(rows))
        elif kind == "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            from datasets import Dataset

            table = Dataset.from_list(rows)
            (table.to_csv if kind == "csv" else table.to_parquet)(str(path))
        return path

    return write_rows


def _instructcoder(i: int) -> dict[str, Any]:
    return {
        "instruction": f"Rename x to y{i}.",
        "input": f"    x = {i}\n",
        "output": f"    y{i} = {i}\n",
    }


def _cnn_dailymail(i: int) -> dict[str, Any]:
    return {"article": f"News number {i}.", "highlights": "News.", "id": f"{i:040x}"}


def _sharegpt(i: int) -> dict[str, Any]:
    turns = [{"from": "human", "value": f"Tell me {i}"}, {"from": "gpt", "value": f"{i}"}]
    return {"id": f"c{i}_0", "conversations": turns}


def _gsm8k(i: int) -> dict[str, Any]:
    return {"question": f"What is {i} + 1?", "answer": f"{i} + 1 = {i + 1}\n#### {i + 1}"}


def _aime(i: int) -> dict[str, Any]:
    return {"id": i, "problem": f"Find $n_{i}$.", "solution": "...", "answer": f"{i}", "url": "u"}


def _gpqa(i: int) -> dict[str, Any]:
    wrong = {f"Incorrect Answer {n}": f"wrong {n} of {i}" for n in (1, 2, 3)}
    return {"Question": f"Which of {i}?", "Correct Answer": f"right {i}", **wrong}


_ROW = {
    "instructcoder": _instructcoder,
    "cnn_dailymail": _cnn_dailymail,
    "sharegpt": _sharegpt,
    "gsm8k": _gsm8k,
    "aime": _aime,
    "gpqa": _gpqa,
}
