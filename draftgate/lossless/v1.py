"""Adapter to the V1 runner's rejection sampler (`vllm.v1.sample.rejection_sampler`).

The Python around the kernels is the same everywhere; the kernels are C++ on CPU without Triton,
and the Triton ones otherwise. `sample` goes through `RejectionSampler.forward`, as the runner does.
"""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from draftgate.lossless.batch import Batch, FloatArray, IntArray
from draftgate.lossless.law import Verification
from draftgate.lossless.repairs import repaired_sampler
from draftgate.lossless.samplers import SamplerError
from draftgate.lossless.stored import stored_logits
from draftgate.lossless.v1_metadata import sampling_metadata, window_metadata

if TYPE_CHECKING:
    import torch


class V1Sampler:
    """`Sampler` and `Kernels` over the V1 functions of this process."""

    verification: Verification = "standard"

    def __init__(self, name: str, *, repaired: bool, scale: float = 1.0) -> None:
        """``repaired``: known defects L1 and L8 are stepped over (see `repairs`)."""
        self.name, self.scale = name, scale
        self._repaired = repaired
        self._vllm = _import_v1()

    @classmethod
    def native(cls) -> V1Sampler:
        """The C++ kernels of vLLM on CPU. SamplerError where this vLLM uses others."""
        sampler = cls("v1-native", repaired=True)
        if not sampler.is_native:
            raise SamplerError("v1-native cannot run: this vLLM does not use its CPU kernels")
        return sampler

    @classmethod
    def triton(cls, name: str, scale: float) -> V1Sampler:
        """The Triton kernels, interpreted or compiled. SamplerError where this vLLM has none."""
        sampler = cls(name, repaired=True, scale=scale)
        if sampler.is_native:
            raise SamplerError(f"{name} cannot run: this vLLM uses its native CPU kernels")
        return sampler

    @property
    def longest_window(self) -> int:
        """vLLM's MAX_SPEC_LEN."""
        return int(self._vllm.MAX_SPEC_LEN)

    @property
    def is_native(self) -> bool:
        """Whether C++ kernels stand in for the Triton ones."""
        from vllm.triton_utils.dispatcher import KernelOverride

        return isinstance(self._vllm.rejection_random_sample_kernel, KernelOverride)

    def as_installed(self) -> V1Sampler:
        """The sampler without repairs, as a user of this vLLM has it."""
        return V1Sampler(self.name, repaired=False, scale=self.scale)

    def sample(self, batch: Batch, seed: int) -> IntArray:
        """See `Sampler.sample`."""
        return self.sample_with_logprobs(batch, seed, None)[0]

    def sample_with_logprobs(
        self, batch: Batch, seed: int, logprobs: int | None
    ) -> tuple[IntArray, Any]:
        """`sample`, and vLLM's `LogprobsTensors` with the ``logprobs`` best (None: none)."""
        import torch

        torch.manual_seed(seed)
        # vLLM compiles the rank of a token with inductor: a minute for nothing that is tested here.
        with self._repairs(), torch.compiler.set_stance("force_eager"):
            output = self._forward(
                window_metadata(batch),
                None if batch.proposal is None else torch.from_numpy(batch.proposal),
                stored_logits(batch),
                sampling_metadata(batch, logprobs),
            )
        return output.sampled_token_ids.numpy(), output.logprobs_tensors

    def match(self, batch: Batch, bonus: IntArray) -> IntArray:
        """See `Kernels.match`."""
        import torch

        output, window = _output(batch), window_metadata(batch)
        target = torch.from_numpy(batch.logits[batch.target_rows])
        self._vllm._rejection_greedy_sample(
            output,
            window.cu_num_draft_tokens,
            window.draft_token_ids,
            target.argmax(dim=-1),
            torch.from_numpy(bonus[:, None]),
            None,
            window.max_spec_len,
            None,
            None,
        )
        return output.numpy()

    def accept(
        self, batch: Batch, bonus: IntArray, uniforms: FloatArray, recovered: IntArray
    ) -> IntArray:
        """See `Kernels.accept`."""
        import torch

        output, window = _output(batch), window_metadata(batch)
        self._vllm._rejection_random_sample(
            output,
            window.cu_num_draft_tokens,
            window.draft_token_ids,
            None if batch.proposal is None else torch.from_numpy(batch.proposal),
            _target_probabilities(batch),
            torch.from_numpy(bonus[:, None]),
            torch.from_numpy(recovered),
            torch.from_numpy(uniforms),
            torch.from_numpy(batch.sampling.temperature == 0),
            window.max_spec_len,
            None,
        )
        return output.numpy()

    def recover(self, batch: Batch, inverse_noise: FloatArray) -> IntArray:
        """See `Kernels.recover`."""
        import torch

        window = window_metadata(batch)
        recovered = torch.full_like(window.draft_token_ids, -1)
        self._vllm._sample_recovered_tokens(
            recovered,
            window.cu_num_draft_tokens,
            window.draft_token_ids,
            None if batch.proposal is None else torch.from_numpy(batch.proposal),
            _target_probabilities(batch),
            torch.from_numpy(inverse_noise),
            max_spec_len=window.max_spec_len,
        )
        return recovered.numpy()

    def expand(self, values: FloatArray | IntArray, lengths: IntArray) -> FloatArray | IntArray:
        """See `Kernels.expand`."""
        import torch

        cumulative = torch.from_numpy(np.cumsum(lengths, dtype=np.int32))
        with self._repairs():
            expanded: FloatArray | IntArray = self._vllm.expand_batch_to_tokens(
                torch.from_numpy(values), cumulative, int(lengths.sum())
            ).numpy()
        return expanded

    @cached_property
    def _forward(self) -> Any:
        from vllm.v1.sample.sampler import Sampler

        return self._vllm.RejectionSampler(Sampler()).forward

    def _repairs(self) -> AbstractContextManager[None]:
        return repaired_sampler() if self._repaired else nullcontext()


def _import_v1() -> Any:
    import torch

    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # vLLM's scan of all modules provokes one
        from vllm.platforms import current_platform
        from vllm.v1.sample import rejection_sampler

        if not hasattr(rejection_sampler.rejection_random_sample_kernel, "_impl"):
            current_platform.import_kernels()
            current_platform.register_triton_kernel_overrides()
    return rejection_sampler


def _output(batch: Batch) -> torch.Tensor:
    import torch

    longest = int(batch.lengths.max(initial=0))
    return torch.full((len(batch.lengths), longest + 1), -1, dtype=torch.int32)


def _target_probabilities(batch: Batch) -> torch.Tensor:
    import torch

    return torch.from_numpy(batch.logits[batch.target_rows]).softmax(dim=-1, dtype=torch.float32)
