"""vLLM's sampling parameters and outputs, from and to the records of this room."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from draftgate.engine.probe import Completion, Position, ProbeOutput, Sampling, TokenLogprob
from draftgate.engine.scores import TokenScore

_STRUCTURES = {"regex": "regex", "choice": "choice", "json_schema": "json"}


def refusals() -> tuple[type[Exception], ...]:
    """What vLLM raises for a request that it does not take."""
    from vllm.exceptions import VLLMClientError

    return (ValueError, VLLMClientError)


def sampling_params(sampling: Sampling, *, cumulative: bool) -> Any:
    """`vllm.SamplingParams` of ``sampling``; ``cumulative``: outputs after every step.

    Raises one of `refusals` for values that vLLM does not take.
    """
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

    values = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in sampling.model_dump(exclude=set(_STRUCTURES), exclude_none=True).items()
    }
    structure = {
        theirs: value
        for ours, theirs in _STRUCTURES.items()
        if (value := getattr(sampling, ours)) is not None
    }
    return SamplingParams(
        **values,
        structured_outputs=StructuredOutputsParams(**structure) if structure else None,
        output_kind=RequestOutputKind.CUMULATIVE if cumulative else RequestOutputKind.FINAL_ONLY,
    )


def probe_output(output: Any, *, aborted: bool) -> ProbeOutput:
    """What vLLM's RequestOutput says."""
    prompt_logprobs = output.prompt_logprobs
    return ProbeOutput(
        request_id=output.request_id,
        completions=tuple(
            _completion(completion) for completion in sorted(output.outputs, key=lambda c: c.index)
        ),
        prompt_logprobs=None
        if prompt_logprobs is None
        else _positions(prompt_logprobs, output.prompt_token_ids),
        cached_tokens=output.num_cached_tokens or 0,
        aborted=aborted,
    )


def _completion(completion: Any) -> Completion:
    token_ids = tuple(completion.token_ids)
    return Completion(
        token_ids=token_ids,
        text=completion.text,
        finish_reason=completion.finish_reason,
        stop_reason=completion.stop_reason,
        logprobs=None
        if completion.logprobs is None
        else _positions(completion.logprobs, token_ids),
    )


def _positions(
    reported: Iterable[Mapping[int, Any] | None], token_ids: Sequence[int]
) -> tuple[Position, ...]:
    """One position for each reported one: as many as vLLM reports, right or wrong."""
    positions = list(reported)
    padded = [*token_ids, *[-1] * len(positions)]
    return tuple(_position(entry or {}, padded[i]) for i, entry in enumerate(positions))


def _position(entry: Mapping[int, Any], token_id: int) -> Position:
    listed = [
        TokenLogprob(token_id=i, logprob=found.logprob, rank=found.rank)
        for i, found in entry.items()
    ]
    return tuple(sorted(listed, key=lambda found: (found.token_id != token_id, found.rank)))


def token_gaps(tensors: Any, start: int) -> tuple[TokenScore, ...]:
    """Gaps of a prompt's tokens from ``start`` on.

    ``tensors``: vLLM's LogprobsTensors of a prompt, the actual token in column 0, the likeliest in
    column 1.
    """
    logprobs = tensors.logprobs[start - 1 :]
    return tuple(TokenScore(gap=gap) for gap in (logprobs[:, 1] - logprobs[:, 0]).tolist())


def token_scores(tensors: Any, start: int, temperature: float) -> tuple[TokenScore, ...]:
    """Scores of a prompt's tokens from ``start`` on.

    ``tensors``: vLLM's LogprobsTensors of a prompt with every token's log-probability
    [prompt - 1, vocabulary + 1], the actual token in column 0, the others by falling probability.
    """
    import torch

    ids = tensors.logprob_token_ids[start - 1 :]
    logprobs = tensors.logprobs[start - 1 :].to(torch.float64)
    actual, ids, ranked = ids[:, :1], ids[:, 1:], logprobs[:, 1:]
    mass = torch.softmax(ranked / temperature, dim=1)
    here = (ids == actual).int().argmax(dim=1, keepdim=True)
    below = mass.cumsum(dim=1).gather(1, here) - mass.gather(1, here)
    below_id = torch.where(ids < actual, mass, 0.0).sum(dim=1, keepdim=True)
    gap = ranked[:, :1] - ranked.gather(1, here)
    rows = torch.cat([gap, mass.gather(1, here), below, below_id], dim=1)
    return tuple(
        TokenScore(gap=row[0], mass=row[1], below=max(row[2], 0.0), below_id=row[3])
        for row in rows.tolist()
    )
