"""Files of `vllm bench serve --save-result`; with `--append-result` a file holds several runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError


class BenchFileError(Exception):
    """A file that is no benchmark result; names the file, the key and the remedy."""


class BenchRun(BaseModel):
    """What is compared of one benchmark run, under its own names and units (`bench.BenchKeys`).

    ``latencies``: seconds from sending a request to its last token, in the order sent. Numbers may
    be NaN; the rules refuse them.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", protected_namespaces=())

    model_id: str
    num_prompts: int
    max_concurrency: int | None = None
    request_rate: float | str | None = None
    completed: int
    failed: int = 0
    total_input_tokens: int
    total_output_tokens: int
    output_throughput: float
    mean_ttft_ms: float
    mean_tpot_ms: float | None = None
    latencies: tuple[float, ...] = ()
    spec_decode_num_drafts: int | None = None
    spec_decode_accepted_tokens: int | None = None

    @property
    def setting(self) -> str:
        """What must be equal for two runs to be compared; also the cell's name."""
        model = self.model_id.rstrip("/").rpartition("/")[2]
        load = f"bs{self.max_concurrency}" if self.max_concurrency else f"rate{self.request_rate}"
        return f"{model}/{self.num_prompts}-prompts/{load}"

    @property
    def acceptance_length(self) -> float | None:
        """1 + accepted / drafts; None without speculative decoding."""
        if not self.spec_decode_num_drafts or self.spec_decode_accepted_tokens is None:
            return None
        return 1 + self.spec_decode_accepted_tokens / self.spec_decode_num_drafts


def read_bench(path: Path) -> tuple[BenchRun, ...]:
    """The runs of a file, or of all ``*.json`` files of a folder by name.

    Raises BenchFileError: unreadable, not JSON, a key missing or of another type, no run at all.
    """
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    runs = tuple(run for file in files for run in _runs(file))
    if not runs:
        raise BenchFileError(f"{path}: holds no result of `vllm bench serve --save-result`")
    return runs


def _runs(file: Path) -> Iterator[BenchRun]:
    for data in _documents(file):
        try:
            yield BenchRun.model_validate(data)
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"])) or "(top level)"
            raise BenchFileError(
                f"{file}: key {key}: {first['msg']}; give a file that "
                "`vllm bench serve --save-result` wrote"
            ) from None


def _documents(file: Path) -> Iterator[Any]:
    """JSON values one after another."""
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BenchFileError(f"{file}: {error}") from None
    decoder, start = json.JSONDecoder(), 0
    while start < len(text):
        try:
            value, end = decoder.raw_decode(text, start)
        except ValueError as error:
            raise BenchFileError(f"{file}: not JSON ({error}); run the benchmark again") from None
        yield value
        start = end + len(text[end:]) - len(text[end:].lstrip())
