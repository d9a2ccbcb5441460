"""Trace files: one JSON object a line, as the paper's simulator writes them.

Keys: ``id``, ``prompt_token_ids``, ``generated_token_ids``, and per proposer ``acc_NAME`` =
``{"acc_len": [...]}``, entry j with j tokens already generated. `acc_eagle` holds EAGLE-3's numbers
(its means are those of the paper's EAGLE-3 rows), so the proposer is called ``eagle3`` here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from draftgate.analysis.lines import Line
from draftgate.analysis.traces import RECORD_CAP, IntArray, TokenArray, Trace, TraceRequest

_PREFIX = "acc_"
_RENAMED = {"eagle": "eagle3"}
_KEYS = ("id", "prompt_token_ids", "generated_token_ids")
_SAME_SEQUENCE = ("ngram",)
"""Proposers recorded on the generated tokens themselves; a head's run generated its own."""

_MOST_TOKEN_ID = np.iinfo(np.int32).max


def looks_like_trace(data: dict[str, Any]) -> bool:
    """Whether a first line can only be meant as a trace."""
    return "generated_token_ids" in data or "prompt_token_ids" in data


def parse_trace(path: Path, lines: Iterator[Line]) -> Trace:
    """The trace of ``lines``; raises TraceError, naming file and line, on any bad record."""
    return Trace(path.stem, path, tuple(_request(line) for line in lines))


def _request(line: Line) -> TraceRequest:
    for key in _KEYS:
        if key not in line.data:
            raise line.error(f"{key} is missing", f"a record has {', '.join(_KEYS)}")
    prompt = _token_ids(line, "prompt_token_ids")
    output = _token_ids(line, "generated_token_ids")
    acceptance = dict(_acceptances(line, len(output)))
    return TraceRequest(str(line.data["id"]), len(prompt), prompt, output, acceptance)


def _token_ids(line: Line, key: str) -> TokenArray:
    ids = _integers(line, key, line.data[key])
    if not len(ids):
        raise line.error(f"{key} is empty", "remove the record")
    outside = np.flatnonzero((ids < 0) | (ids > _MOST_TOKEN_ID))
    if len(outside):
        raise line.error(f"{key}[{outside[0]}] is {ids[outside[0]]}", "token ids are 0 or larger")
    return ids.astype(np.int32)


def _acceptances(line: Line, output_tokens: int) -> Iterator[tuple[str, IntArray]]:
    for key, value in line.data.items():
        if not key.startswith(_PREFIX):
            continue
        if not isinstance(value, dict) or "acc_len" not in value:
            raise line.error(f"{key}.acc_len is missing", 'write {"acc_len": [...]}')
        name = key.removeprefix(_PREFIX)
        entries = _entries(line, f"{key}.acc_len", value["acc_len"])
        if name in _SAME_SEQUENCE and len(entries) != output_tokens:
            raise line.error(
                f"{key}.acc_len has {len(entries)} entries for {output_tokens} generated tokens",
                "one entry a generated token",
            )
        yield _RENAMED.get(name, name), entries


def _entries(line: Line, key: str, value: Any) -> IntArray:
    entries = _integers(line, key, value)
    if not len(entries):
        raise line.error(f"{key} is empty", "one entry a generated token")
    outside = np.flatnonzero((entries < 1) | (entries > RECORD_CAP + 1))
    if len(outside):
        raise line.error(
            f"{key}[{outside[0]}] is {entries[outside[0]]}",
            f"an entry counts the tokens a step emits, 1 to {RECORD_CAP + 1} "
            f"(cap {RECORD_CAP} and the bonus token)",
        )
    return entries


def _integers(line: Line, key: str, value: Any) -> IntArray:
    if not isinstance(value, list):
        raise line.error(f"{key} is not a list", "write a list of integers")
    for index, item in enumerate(value):
        if type(item) is not int:
            raise line.error(f"{key}[{index}] is not an integer", "write a list of integers")
    try:
        return np.array(value, dtype=np.int64)
    except OverflowError:
        raise line.error(f"{key} holds a number beyond 64 bits", "check the record") from None
