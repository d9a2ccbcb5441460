"""A `Batch` in the two records that V1's rejection sampler reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from draftgate.lossless.batch import Batch, FloatArray

if TYPE_CHECKING:
    import torch


def window_metadata(batch: Batch) -> Any:
    """vLLM's `SpecDecodeMetadata` of ``batch``."""
    import torch
    from vllm.v1.spec_decode.metadata import SpecDecodeMetadata

    def tensor(values: Any) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(values, dtype=np.int32))

    return SpecDecodeMetadata(
        draft_token_ids=tensor(batch.drafts),
        num_draft_tokens=batch.lengths.tolist(),
        cu_num_draft_tokens=tensor(np.cumsum(batch.lengths)),
        cu_num_sampled_tokens=tensor(np.cumsum(batch.lengths + 1)),
        target_logits_indices=tensor(batch.target_rows),
        bonus_logits_indices=tensor(batch.bonus_rows),
        logits_indices=tensor(np.arange(len(batch.logits))),
    )


def sampling_metadata(batch: Batch, logprobs: int | None) -> Any:
    """vLLM's `SamplingMetadata` of ``batch``, as its input batch makes it."""
    import torch
    from vllm.v1.sample.logits_processor import LogitsProcessors
    from vllm.v1.sample.metadata import SamplingMetadata

    sampling, requests = batch.sampling, len(batch.lengths)
    needs_history = sampling.penalties is not None or bool(sampling.bad_words)
    return SamplingMetadata(
        temperature=torch.from_numpy(sampling.temperature),
        all_greedy=bool((sampling.temperature == 0).all()),
        all_random=bool((sampling.temperature != 0).all()),
        top_p=None if sampling.top_p is None else torch.from_numpy(sampling.top_p),
        top_k=None if sampling.top_k is None else torch.from_numpy(sampling.top_k),
        generators={i: torch.Generator().manual_seed(s) for i, s in sampling.seeds.items()},
        max_num_logprobs=logprobs,
        bad_words_token_ids={
            i: [list(word) for word in words] for i, words in sampling.bad_words.items()
        },
        output_token_ids=[list(tokens) for tokens in sampling.outputs]
        if sampling.outputs
        else [[]] * requests,
        allowed_token_ids_mask=None
        if sampling.allowed is None
        else torch.from_numpy(~sampling.allowed),
        logitsprocs=LogitsProcessors(),
        spec_token_ids=[list(window) for window in batch.windows()] if needs_history else None,
        **_penalties(batch),
    )


def _penalties(batch: Batch) -> dict[str, Any]:
    import torch

    penalties = batch.sampling.penalties
    if penalties is None:
        ones = torch.ones(len(batch.lengths))
        return {
            "no_penalties": True,
            "prompt_token_ids": None,
            "frequency_penalties": ones * 0,
            "presence_penalties": ones * 0,
            "repetition_penalties": ones,
        }

    def tensor(values: FloatArray) -> torch.Tensor:
        return torch.from_numpy(values.astype(np.float32))

    longest = max(map(len, penalties.prompts), default=0)
    prompts = [[*prompt, *[batch.vocab] * (longest - len(prompt))] for prompt in penalties.prompts]
    return {
        "no_penalties": False,
        "prompt_token_ids": torch.tensor(prompts, dtype=torch.int64),
        "frequency_penalties": tensor(penalties.frequency),
        "presence_penalties": tensor(penalties.presence),
        "repetition_penalties": tensor(penalties.repetition),
    }
