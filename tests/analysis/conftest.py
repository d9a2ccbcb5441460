from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).parents[3] / "shared"


@pytest.fixture(scope="session")
def paper_trace() -> Callable[[str], Path]:
    """Path of one of the paper's traces; they lie beside the repository and are not part of it."""

    def path(name: str) -> Path:
        file = SHARED / "traces" / "llama3.1-8B" / f"{name}.jsonl"
        if not file.is_file():
            pytest.skip(f"the paper's traces are not on this machine ({file})")
        return file

    return path


@pytest.fixture(scope="session")
def paper_figures() -> dict[str, Any]:
    file = SHARED / "reference" / "paper_figures.json"
    if not file.is_file():
        pytest.skip(f"the paper's figures are not on this machine ({file})")
    return json.loads(file.read_text())


@pytest.fixture
def write_lines(tmp_path: Path) -> Callable[..., Path]:
    """Writes records, or ready lines, as a JSONL file."""

    def write(*records: dict[str, Any] | str | bytes, name: str = "gsm8k.jsonl") -> Path:
        path = tmp_path / name
        raw = (r if isinstance(r, str | bytes) else json.dumps(r) for r in records)
        path.write_bytes(b"\n".join(r.encode() if isinstance(r, str) else r for r in raw) + b"\n")
        return path

    return write
