"""Scripted drafts: what a proposer without a model drafts, step by step, from recorded outputs.

An engine started with `scripted_config(k)` drafts what each round's `DraftPlan` says, and nothing
where a round has none. One start therefore serves every script:

- ``oracle``: the recorded output, so everything is accepted; or, with `Recording.accepted`, just
  as much as that;
- ``adversary``: a window whose first token is always wrong and whose other tokens are right;
- ``ragged``: for each request and step another length and another number of right tokens;
- ``empty``: nothing.

A plan is data. `draftgate.engine.proposers` follows it inside vLLM.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from draftgate.engine.records import Record, RoundRecord

SCRIPTED_PROPOSER = "draftgate.engine.proposers.ScriptedProposer"
WORKER_EXTENSION = "draftgate.engine.proposers.ScriptedWorker"

Rule = Literal["oracle", "adversary", "ragged", "empty"]


class Recording(Record):
    """A request that ran before: its prompt, as token ids in the chat template, and its output.

    ``accepted[j]``: drafts to follow the output where ``j`` output tokens are there already (the
    convention of traces); the last entry holds from there on. None: no limit but the window.
    """

    prompt: tuple[int, ...] = Field(min_length=1)
    output: tuple[int, ...]
    accepted: tuple[int, ...] | None = None


class DraftPlan(Record):
    """What to draft in a round.

    A request is matched to the recording that begins with all its tokens so far. Where none does
    (sampled outputs), drafts are random tokens of its own text; an oracle drafts nothing there.

    ``length``: tokens of a window at most (None: the engine's k). ``padded``: an oracle's window
    always has that length, wrong after the last accepted token, as verification by a fixed k costs;
    otherwise it ends there, and no verification is wasted. ``seed`` decides for ``ragged``.
    """

    rule: Rule
    recordings: tuple[Recording, ...] = ()
    length: int | None = Field(default=None, ge=0)
    padded: bool = False
    seed: int = 0


def scripted_config(k: int) -> dict[str, Any]:
    """``speculative_config`` of an engine that drafts by each round's plan, up to ``k`` tokens."""
    return {
        "method": "custom_class",
        "model": SCRIPTED_PROPOSER,
        "num_speculative_tokens": k,
    }


def is_scripted(speculative_config: dict[str, Any] | None) -> bool:
    """Whether an engine with this config takes draft plans."""
    return (speculative_config or {}).get("model") == SCRIPTED_PROPOSER


def record_outputs(
    prompts: Sequence[Sequence[int]], record: RoundRecord, *, accepted: bool = False
) -> tuple[Recording, ...]:
    """Recordings of a finished round, in order; ``prompts`` as `EngineHost.tokenize` gave them.

    In a ``replicated`` round each prompt's copies follow one another; they match its one recording.
    ``accepted``: keep to the acceptance that this round had, window by window.

    Raises:
        ValueError: the round's requests are no multiple of the prompts.
    """
    copies, rest = divmod(len(record.requests), len(prompts)) if prompts else (0, 1)
    if copies < 1 or rest:
        raise ValueError(f"{len(prompts)} prompts for a round of {len(record.requests)} requests")
    return tuple(
        Recording(
            prompt=tuple(prompt),
            output=request.output_token_ids,
            accepted=_acceptance(request.emitted, len(request.output_token_ids))
            if accepted
            else None,
        )
        for prompt, request in zip(prompts, record.requests[::copies], strict=True)
    )


def _acceptance(emitted: Sequence[int], length: int) -> tuple[int, ...]:
    """Accepted drafts by tokens already there: a step that emitted n tokens accepted n - 1."""
    accepted = [0] * (length + 1)
    present = 0
    for count in emitted:
        accepted[min(present, length)] = count - 1
        present += count
    return tuple(accepted)
