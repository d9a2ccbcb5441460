"""A workload's prompts, fixed and hashed, so that two measurements can prove they used the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict


class Prompt(BaseModel):
    """One user message; the engine applies the target's chat template.

    ``prompt_id`` is the workload and the row in its source, such as ``gsm8k-0007``: a row keeps
    its id whatever else is selected.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt_id: str
    text: str


class FrozenWorkload(BaseModel):
    """The prompts of a cell in order. ``workload_hash``: sha256 hex over ids and texts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    source: str
    prompts: tuple[Prompt, ...]
    revision: str | None
    workload_hash: str


def freeze(
    name: str, source: str, prompts: Iterable[Prompt], revision: str | None = None
) -> FrozenWorkload:
    """Fix ``prompts`` and hash them; where they come from does not change the hash."""
    fixed = tuple(prompts)
    return FrozenWorkload(
        name=name,
        source=source,
        prompts=fixed,
        revision=revision,
        workload_hash=_digest(fixed),
    )


def _digest(prompts: tuple[Prompt, ...]) -> str:
    pairs = [[prompt.prompt_id, prompt.text] for prompt in prompts]
    canonical = json.dumps(pairs, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
