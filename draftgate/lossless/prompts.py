"""The prompts of `draftgate lossless`: a mini workload, or a file of one's own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from draftgate.profile.model import WorkloadName, WorkloadSpec

_LEAST = 1


class PromptsError(Exception):
    """Prompts that cannot be read; says which and what would do."""


def read_prompts(source: str, count: int) -> tuple[tuple[str, str], ...]:
    """Names and texts of the first ``count`` prompts of ``source``.

    A workload's name takes the testbed's held-out prompts of that kind. Otherwise a file: ``.txt``
    with a prompt a line, or ``.jsonl`` with an object a line that has a text under ``prompt``.

    Raises:
        PromptsError: neither, an unreadable file, or no prompt in it.
    """
    if source in workload_names():
        from draftgate.workload import load_workload

        spec = WorkloadSpec.model_validate(
            {"name": source, "source": "mini", "prompts": count, "max_tokens": _LEAST}
        )
        return tuple((p.prompt_id, p.text) for p in load_workload(spec).prompts)
    path = Path(source).expanduser()
    if path.suffix not in _READERS or not path.is_file():
        raise PromptsError(
            f"--prompts {source}: no workload ({', '.join(workload_names())}) and no .txt or "
            ".jsonl file; correct it"
        )
    try:
        texts = [text for text in _READERS[path.suffix](path) if text.strip()][:count]
    except (OSError, UnicodeDecodeError) as error:
        raise PromptsError(f"--prompts {path}: {error}") from error
    if not texts:
        raise PromptsError(f"--prompts {path}: no prompt in it")
    return tuple((f"{path.stem}-{index:04d}", text) for index, text in enumerate(texts))


def workload_names() -> tuple[str, ...]:
    """Workloads whose prompts are shipped."""
    return get_args(WorkloadName)


def _lines(path: Path) -> Iterator[str]:
    yield from path.read_text("utf-8").splitlines()


def _objects(path: Path) -> Iterator[str]:
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            prompt = json.loads(line)["prompt"]
        except (ValueError, KeyError, TypeError) as error:
            raise PromptsError(
                f'--prompts {path} line {number}: no JSON object with a "prompt": {error!r}'
            ) from error
        if not isinstance(prompt, str):
            raise PromptsError(f'--prompts {path} line {number}: "prompt" is no text')
        yield prompt


_READERS = {".txt": _lines, ".jsonl": _objects}
