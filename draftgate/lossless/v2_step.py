"""A `Batch` as the V2 runner holds it: request states, and the input of one step.

Every request of the batch occupies a slot of its own, has a prompt and some output, and is past its
prefill. Slots are not in batch order, so that a kernel that takes one index for the other is seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from draftgate.lossless.batch import Batch, IntArray, Sampling
from draftgate.lossless.stored import stored_logits

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class Step:
    """What V2's samplers take."""

    sampler: Any  # vLLM's `Sampler`, with the states of all requests
    inputs: Any  # the fields of vLLM's `InputBatch` that samplers read
    logits: torch.Tensor  # [tokens + requests, vocabulary], as stored
    draft_logits: torch.Tensor | None  # [slots, longest, vocabulary] float32


def step_of(batch: Batch, logprobs: int | None, later: int = 0) -> Step:
    """The step of ``batch``; each request asks for the ``logprobs`` best (None: none).

    ``later``: tokens that the requests emitted since a first step.
    """
    slots = slots_of(len(batch.lengths))
    longest = int(batch.lengths.max(initial=0))
    sampler = _sampler(batch, slots, longest, logprobs)
    return Step(
        sampler=sampler,
        inputs=_inputs(batch, slots, longest, FIRST_POSITION + later),
        logits=stored_logits(batch),
        draft_logits=_draft_logits(batch, slots, longest),
    )


def slots_of(requests: int) -> IntArray:
    """Slot of each request: the last request has the first."""
    return np.arange(requests)[::-1].copy()


def expanded(lengths: IntArray, slots: IntArray) -> tuple[torch.Tensor, torch.Tensor]:
    """Slot and offset within its request of each row of logits, by vLLM's own kernel."""
    import torch
    from vllm.v1.worker.gpu.input_batch import expand_idx_mapping

    rows = np.concatenate([[0], np.cumsum(lengths + 1)]).astype(np.int32)
    mapping: tuple[torch.Tensor, torch.Tensor] = expand_idx_mapping(
        torch.from_numpy(slots), int(rows[-1]), torch.from_numpy(rows), int(lengths.max()) + 1
    )
    return mapping


def _sampler(batch: Batch, slots: IntArray, longest: int, logprobs: int | None) -> Any:
    import torch
    from vllm.v1.worker.gpu.sample.sampler import Sampler
    from vllm.v1.worker.gpu.states import RequestState

    sampling, requests, device = batch.sampling, len(batch.lengths), torch.device("cpu")
    texts = [_text(sampling, request) for request in range(requests)]
    room = max(len(prompt) + len(output) for prompt, output in texts) + 1
    states = RequestState(requests, room, room, longest, batch.vocab, device)
    sampler = Sampler(
        SimpleNamespace(reasoning_config=None),
        requests,
        batch.vocab,
        device,
        states,
        num_speculative_tokens=longest,
    )
    for request, slot in enumerate(slots.tolist()):
        prompt, output = texts[request]
        states.free_indices = [slot]
        states.add_request(str(request), len(prompt), [*prompt, *output], 0, room)
        sampler.add_request(slot, _parameters(sampling, request, logprobs))
    states.apply_staged_writes()
    sampler.apply_staged_writes()
    states.prefill_len.gpu.zero_()  # the window lies past the prefill, however short the text
    return sampler


def _text(sampling: Sampling, request: int) -> tuple[list[int], list[int]]:
    prompt = [] if sampling.penalties is None else list(sampling.penalties.prompts[request])
    output = [] if sampling.outputs is None else list(sampling.outputs[request])
    return prompt, output


def _parameters(sampling: Sampling, request: int, logprobs: int | None) -> Any:
    from vllm.sampling_params import SamplingParams

    penalties, allowed = sampling.penalties, sampling.allowed
    fields: dict[str, Any] = {}
    if penalties is not None:
        fields = {
            "repetition_penalty": float(penalties.repetition[request]),
            "frequency_penalty": float(penalties.frequency[request]),
            "presence_penalty": float(penalties.presence[request]),
        }
    parameters = SamplingParams(
        temperature=float(sampling.temperature[request]),
        top_k=0 if sampling.top_k is None else int(sampling.top_k[request]),
        top_p=1.0 if sampling.top_p is None else float(sampling.top_p[request]),
        seed=sampling.seeds.get(request),
        allowed_token_ids=None if allowed is None else np.flatnonzero(allowed[request]).tolist(),
        logprobs=logprobs,
        **fields,
    )
    # A user's words are text; their tokens have no public way in.
    parameters._bad_words_token_ids = [list(word) for word in sampling.bad_words.get(request, ())]
    return parameters


def _inputs(batch: Batch, slots: IntArray, longest: int, position: int) -> Any:
    import torch

    requests, rows = len(batch.lengths), len(batch.logits)
    ends = np.concatenate([[0], np.cumsum(batch.lengths + 1)]).astype(np.int32)
    expanded_slots, offsets = expanded(batch.lengths, slots)
    # The row before a draft is fed the token before it; the first one, the last token of the text.
    fed = np.zeros(rows, np.int32)
    fed[batch.target_rows + 1] = batch.drafts
    lengths = torch.from_numpy(np.full(requests, longest + 2, np.int32))
    return SimpleNamespace(
        num_reqs=requests,
        num_draft_tokens=len(batch.drafts),
        idx_mapping=torch.from_numpy(slots),
        idx_mapping_np=slots,
        expanded_idx_mapping=expanded_slots,
        expanded_local_pos=offsets,
        cu_num_logits=torch.from_numpy(ends),
        cu_num_logits_np=ends,
        input_ids=torch.from_numpy(fed),
        positions=offsets.to(torch.int64) + position,
        logits_indices=torch.arange(rows),
        seq_lens=lengths,
        seq_lens_cpu_upper_bound=lengths,
    )


def _draft_logits(batch: Batch, slots: IntArray, longest: int) -> torch.Tensor | None:
    """The proposal as the proposer stores it: logits before temperature, by slot."""
    import torch

    if batch.proposal is None or longest == 0:
        return None
    cache = np.zeros((len(slots), longest, batch.vocab), np.float32)
    offsets = np.arange(len(batch.drafts)) - np.repeat(batch.starts, batch.lengths)
    temperature = np.repeat(batch.sampling.temperature, batch.lengths)
    with np.errstate(divide="ignore"):
        logits = np.log(batch.proposal) * np.where(temperature == 0, 1, temperature)[:, None]
    cache[np.repeat(slots, batch.lengths), offsets] = logits
    return torch.from_numpy(cache)


# Where every window starts in its text: random numbers are a function of seed and position.
FIRST_POSITION = 100
