"""Chat logs as traces: JSONL of conversations, tokenised here.

A line is one of: ``{"messages": [{"role", "content"}, ...]}``, ``{"conversations": [{"from",
"value"}, ...]}`` (ShareGPT), or ``{"prompt", "response"}``. Every answer becomes a request whose
prompt is all text before it. No chat template is applied: its few tokens do not repeat the content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from draftgate.analysis.errors import TraceError
from draftgate.analysis.lines import Line
from draftgate.analysis.traces import TokenArray, Trace, TraceRequest

Encode = Callable[[str], list[int]]

_DIALECTS = (("messages", "role", "content"), ("conversations", "from", "value"))
_ANSWERERS = ("assistant", "gpt", "model", "chatgpt")


def looks_like_chat(data: dict[str, Any]) -> bool:
    """Whether a first line can only be meant as a chat log."""
    return any(key in data for key, *_ in _DIALECTS) or {"prompt", "response"} <= data.keys()


def parse_chat(path: Path, lines: Iterator[Line], encode: Encode) -> Trace:
    """One request an answer; raises TraceError, naming file and line, on any bad record."""
    requests = tuple(request for line in lines for request in _requests(line, encode))
    if not requests:
        raise TraceError(f"{path}: no conversation has an answer; nothing to replay")
    return Trace(path.stem, path, requests)


def load_encoder(name: str) -> Encode:
    """Encoder of a tokenizer: a `tokenizer.json`, a folder with one, or a hub name.

    Raises TraceError where there is none.
    """
    from tokenizers import Tokenizer

    path = Path(name)
    file = path / "tokenizer.json" if path.is_dir() else path
    try:
        tokenizer = (
            Tokenizer.from_file(str(file)) if path.exists() else Tokenizer.from_pretrained(name)
        )
    except Exception as error:  # the library raises bare Exception
        raise TraceError(
            f"tokenizer {name!r}: {error}; give a tokenizer.json or a folder with one"
        ) from None
    return lambda text: list(tokenizer.encode(text, add_special_tokens=False).ids)


def _requests(line: Line, encode: Encode) -> Iterator[TraceRequest]:
    before: list[int] = []
    for turn, (speaker, text) in enumerate(_turns(line)):
        ids = encode(text)
        if speaker in _ANSWERERS and before:
            if not ids:
                raise line.error(f"turn {turn + 1}: the answer is empty", "remove the record")
            yield _request(f"{line.number}:{turn + 1}", before, ids)
        before += ids


def _request(request_id: str, prompt: list[int], output: list[int]) -> TraceRequest:
    prompt_ids: TokenArray = np.array(prompt, dtype=np.int32)
    return TraceRequest(request_id, len(prompt), prompt_ids, np.array(output, dtype=np.int32))


def _turns(line: Line) -> Iterator[tuple[str, str]]:
    for key, speaker, text in _DIALECTS:
        if key in line.data:
            yield from _dialogue(line, key, speaker, text)
            return
    for key, role in (("prompt", "user"), ("response", "assistant")):
        yield role, _string(line, key, line.data.get(key))


def _dialogue(line: Line, key: str, speaker: str, text: str) -> Iterator[tuple[str, str]]:
    turns = line.data[key]
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise line.error(f"{key} is not a list of objects", f"write {speaker} and {text} per turn")
    for index, turn in enumerate(turns):
        where = f"{key}[{index}]"
        yield (
            _string(line, f"{where}.{speaker}", turn.get(speaker)),
            _string(line, f"{where}.{text}", turn.get(text)),
        )


def _string(line: Line, key: str, value: Any) -> str:
    if not isinstance(value, str):
        raise line.error(f"{key} is missing or not a text", "every turn needs both")
    return value
