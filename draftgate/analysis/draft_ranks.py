"""Per-rank hits of a draft head over recorded outputs: what trees of any shape would have accepted.

One JSON object a line: ``{"id", "head", "top", "prompt_tokens", "ranks"}``. ``ranks[j][d]`` is the
rank of output token j + d (0: the likeliest) among the head's ``top`` candidates for it, given that
j tokens are generated and that tokens j .. j + d - 1 were drafted right; -1 where it is not among
them, or behind the output's end. Row 0 belongs to the prefill and starts no step.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from draftgate.analysis.errors import TraceError
from draftgate.analysis.lines import Line, read_lines
from draftgate.analysis.traces import IntArray

_KEYS = ("id", "head", "top", "prompt_tokens", "ranks")


@dataclass(frozen=True, eq=False)
class RankedRequest:
    """One request. ``ranks``: (output tokens, depth)."""

    request_id: str
    prompt_tokens: int
    ranks: IntArray


@dataclass(frozen=True, eq=False)
class DraftRanks:
    """All requests of a recording, at least one, of one ``head``, ``top`` and depth."""

    name: str
    head: str
    top: int
    requests: tuple[RankedRequest, ...]

    @property
    def depth(self) -> int:
        """Draft steps recorded."""
        return int(self.requests[0].ranks.shape[1])


def read_ranks(path: Path) -> DraftRanks:
    """Read a recording; raises TraceError, naming file and line, on any bad record."""
    if path.is_dir() or path.suffix == ".json":
        raise TraceError(
            f"{path} is of a run, whose cells keep no ranks; record a head's ranks over a cell "
            "first: benchmarks/draft_ranks.py CELL.json --head eagle3 --output ranks.jsonl"
        )
    lines = list(read_lines(path))
    first = lines[0]
    requests = tuple(_request(line) for line in lines)
    for line, request in zip(lines, requests, strict=True):
        same = all(line.data[key] == first.data[key] for key in ("head", "top"))
        if not same or request.ranks.shape[1] != requests[0].ranks.shape[1]:
            raise line.error(
                f"head, top or depth differ from line {first.number}", "one recording a file"
            )
    return DraftRanks(path.stem, first.data["head"], first.data["top"], requests)


def lines_of(ranks: DraftRanks) -> Iterator[str]:
    """The recording's lines, each with its line break."""
    for request in ranks.requests:
        record = {
            "id": request.request_id,
            "head": ranks.head,
            "top": ranks.top,
            "prompt_tokens": request.prompt_tokens,
            "ranks": request.ranks.tolist(),
        }
        yield json.dumps(record, separators=(",", ":")) + "\n"


def _request(line: Line) -> RankedRequest:
    for key in _KEYS:
        if key not in line.data:
            raise line.error(f"{key} is missing", f"a record has {', '.join(_KEYS)}")
    if not isinstance(line.data["head"], str) or not line.data["head"]:
        raise line.error("head is not a name", 'write the variant\'s method, such as "eagle3"')
    top = _count(line, "top")
    return RankedRequest(
        str(line.data["id"]), _count(line, "prompt_tokens"), _ranks(line, line.data["ranks"], top)
    )


def _count(line: Line, key: str) -> int:
    value = line.data[key]
    if type(value) is not int or value < 1:
        raise line.error(f"{key} is not a whole number of at least 1", "check the record")
    return value


def _ranks(line: Line, value: Any, top: int) -> IntArray:
    rows = isinstance(value, list) and all(isinstance(row, list) and row for row in value)
    if not rows or not value:
        raise line.error("ranks is not a list of rows", "one row an output token")
    if len({len(row) for row in value}) > 1:
        raise line.error("ranks has rows of different lengths", "one entry a draft step")
    if not all(type(rank) is int for row in value for rank in row):
        raise line.error("ranks holds something else than integers", "write ranks, -1 for none")
    ranks = np.array(value)
    if ranks.dtype == object or ranks.min() < -1 or ranks.max() >= top:
        raise line.error(f"ranks holds a rank outside -1 .. {top - 1}", "ranks are below top")
    return ranks.astype(np.int64)
