"""All that two engines answered to the same probe, compared: ids, text, ends, log-probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from draftgate.engine import Completion, ProbeOutput, ProbeResult
from draftgate.engine.probe import Position

RANK_SLIP = 3  # places that a token may move among others which are as likely
LOGPROB_TOLERANCE = 2e-3  # nats, float32: prefill, decoding and verification sum in other orders


def differences(control: ProbeResult, found: ProbeResult) -> tuple[str, ...]:
    """One line for each difference; empty where speculative decoding cannot be told apart.

    Of a request that was aborted in one of the two, the shorter output must begin the longer one.
    """
    pairs = zip(control.outputs, found.outputs, strict=True)
    return tuple(line for ours, theirs in pairs for line in _output(ours, theirs))


def _output(control: ProbeOutput, found: ProbeOutput) -> Iterator[str]:
    name = control.request_id
    if len(control.completions) != len(found.completions):
        yield f"{name}: {len(found.completions)} outputs instead of {len(control.completions)}"
        return
    compare = _prefix if control.aborted or found.aborted else _completion
    for ours, theirs in zip(control.completions, found.completions, strict=True):
        yield from compare(name, ours, theirs)
    yield from _positions(f"{name} prompt", control.prompt_logprobs, found.prompt_logprobs)


def _prefix(name: str, control: Completion, found: Completion) -> Iterator[str]:
    shorter = min(len(control.token_ids), len(found.token_ids))
    if control.token_ids[:shorter] != found.token_ids[:shorter]:
        yield f"{name}: aborted output {found.token_ids} instead of {control.token_ids}"


def _completion(name: str, control: Completion, found: Completion) -> Iterator[str]:
    for field in ("token_ids", "text", "finish_reason", "stop_reason"):
        ours, theirs = getattr(control, field), getattr(found, field)
        if ours != theirs:
            yield f"{name}: {field} {theirs!r} instead of {ours!r}"
    if control.token_ids == found.token_ids:
        yield from _positions(name, control.logprobs, found.logprobs)


def _positions(
    name: str, control: Sequence[Position] | None, found: Sequence[Position] | None
) -> Iterator[str]:
    if control is None or found is None:
        if control is not found:
            yield f"{name}: log-probabilities are {'missing' if control else 'there unasked'}"
        return
    if len(control) != len(found):
        yield f"{name}: {len(found)} positions with log-probabilities instead of {len(control)}"
        return
    for index, (ours, theirs) in enumerate(zip(control, found, strict=True)):
        if line := _position(ours, theirs):
            yield f"{name} position {index}: {line}"
            return  # the first one says it


def _position(control: Position, found: Position) -> str | None:
    """Why two positions differ. Tokens that are equally likely may stand in either order."""
    if len(control) != len(found):
        return f"{len(found)} tokens instead of {len(control)}"
    if control[:1] and control[0].token_id != found[0].token_id:
        return f"token {found[0].token_id} instead of {control[0].token_id}"
    for ours, theirs in zip(control, found, strict=True):
        if abs(ours.logprob - theirs.logprob) > LOGPROB_TOLERANCE:
            return f"log-probability {theirs.logprob:.4f} instead of {ours.logprob:.4f}"
    return _other_alternative(control[1:], found[1:]) or _other_rank(control, found)


def _other_alternative(control: Position, found: Position) -> str | None:
    for index, (ours, theirs) in enumerate(zip(control, found, strict=True)):
        if ours.token_id != theirs.token_id and not _may_change_places(control, index):
            return f"alternative {theirs.token_id} instead of {ours.token_id}"
    return None


def _may_change_places(ranked: Position, index: int) -> bool:
    """With a neighbour that is as likely; whether the last one has such, the list does not say."""
    beside = [ranked[i].logprob for i in (index - 1, index + 1) if 0 <= i < len(ranked)]
    close = (abs(ranked[index].logprob - other) <= LOGPROB_TOLERANCE for other in beside)
    return index == len(ranked) - 1 or any(close)


def _other_rank(control: Position, found: Position) -> str | None:
    for ours, theirs in zip(control[:1], found[:1], strict=True):
        if abs(ours.rank - theirs.rank) > RANK_SLIP:
            return f"rank {theirs.rank} instead of {ours.rank}"
    return None
