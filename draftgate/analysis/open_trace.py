"""One door for every file that can be simulated or replayed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from draftgate.analysis.chat_log import load_encoder, looks_like_chat, parse_chat
from draftgate.analysis.errors import TraceError
from draftgate.analysis.lines import read_lines
from draftgate.analysis.trace_file import looks_like_trace, parse_trace
from draftgate.analysis.traces import Trace


def trace_paths(paths: Iterable[Path]) -> list[Path]:
    """The paths, with its cells in place of a run's folder (or of their own).

    Raises TraceError on a folder that is no run's.
    """
    return list(chain.from_iterable(map(_cells, paths)))


def _cells(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    of_run = (path / "run.json").exists()
    found = sorted((path / "cells" if of_run else path).glob("*.json"))
    if not found:
        raise TraceError(f"{path} has no cells/*.json; give a run's folder, or the files")
    return found


def open_trace(path: Path, tokenizer: str | None = None) -> Trace:
    """Read a cell of our results (``.json``), a trace file or a chat log (JSON lines).

    ``tokenizer`` is needed for chat logs only. Raises TraceError, naming file and line.
    """
    if path.suffix == ".json":
        from draftgate.analysis.measured_trace import read_measured  # pydantic: 0.3 s

        return read_measured(path)
    lines = read_lines(path)
    first = next(lines)
    whole = chain([first], lines)
    if looks_like_trace(first.data):
        return parse_trace(path, whole)
    if not looks_like_chat(first.data):
        raise first.error(
            "neither a trace nor a chat log",
            "a trace has id, prompt_token_ids and generated_token_ids; a chat log has messages, "
            "conversations, or prompt and response",
        )
    if tokenizer is None:
        raise first.error("a chat log holds text", "give its tokenizer with --tokenizer")
    return parse_chat(path, whole, load_encoder(tokenizer))
