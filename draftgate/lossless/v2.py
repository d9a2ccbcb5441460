"""Adapter to the V2 runner's rejection sampler (`vllm.v1.worker.gpu.spec_decode`).

It is what a GPU runs by default since 0.29. `sample` goes through `RejectionSampler.__call__`, or
`Sampler.__call__` where nothing was drafted, as the runner does.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from draftgate.lossless.batch import Batch, FloatArray, IntArray
from draftgate.lossless.law import Verification
from draftgate.lossless.samplers import SamplerError
from draftgate.lossless.v2_chunks import given_chunks
from draftgate.lossless.v2_numbers import given_choices, given_noise, given_uniforms
from draftgate.lossless.v2_rejections import reachable, rejecting_steps
from draftgate.lossless.v2_step import FIRST_POSITION, Step, expanded, slots_of, step_of

if TYPE_CHECKING:
    import torch


class V2Sampler:
    """`Sampler` and `Kernels` over the V2 runner's functions, standard or block verification."""

    longest_window: int | None = None

    def __init__(
        self,
        name: str,
        verification: Verification,
        scale: float = 1.0,
        chunk_rows: int | None = None,
    ) -> None:
        """``chunk_rows``: most rows of logits that are verified at once (None: as vLLM decides).

        SamplerError where this vLLM has no Triton kernels in this process.
        """
        self.name, self.verification, self.scale = name, verification, scale
        self._chunk_rows = chunk_rows
        self._check()

    def in_chunks_of(self, rows: int) -> V2Sampler:
        """See `Chunking.in_chunks_of`."""
        return V2Sampler(self.name, self.verification, self.scale, chunk_rows=rows)

    def as_installed(self) -> V2Sampler:
        """The sampler itself: nothing is repaired."""
        return self

    def sample(self, batch: Batch, seed: int) -> IntArray:
        """See `Sampler.sample`."""
        return self.sample_with_logprobs(batch, seed, None)[0]

    def sample_later(self, batch: Batch, tokens: int) -> IntArray:
        """See `Drawing.sample_later`."""
        return self.sample_with_logprobs(batch, 0, None, tokens)[0]

    def sample_with_logprobs(
        self, batch: Batch, seed: int, logprobs: int | None, later: int = 0
    ) -> tuple[IntArray, Any]:
        """`sample`, and vLLM's `LogprobsTensors` in the layout of V1 (None: none asked for).

        Row request * width + i is that of the request's i-th token, width that of the output.
        """
        np.random.seed(seed % 2**32)  # vLLM gives a request without a seed one of numpy's
        step = step_of(batch, logprobs, later)
        if step.inputs.num_draft_tokens == 0:
            output = step.sampler(step.logits, step.inputs)
        else:
            verify = self._rejection_sampler(batch, step)
            with given_chunks(self._chunk_rows):
                output = verify(step.logits, step.inputs, step.draft_logits)
        sampled = _padded(output.sampled_token_ids, output.num_sampled)
        if logprobs is None:
            return sampled, None
        return sampled, _by_request(output.logprobs_tensors, batch, sampled.shape[1])

    def draw(
        self,
        logits: FloatArray,
        temperature: FloatArray,
        seeds: IntArray,
        offset: int,
        *,
        drafting: bool,
    ) -> IntArray:
        """See `Drawing.draw`."""
        import torch
        from vllm.v1.worker.gpu.sample.gumbel import gumbel_sample

        rows = len(logits)
        drawn: torch.Tensor = gumbel_sample(
            torch.from_numpy(logits),
            torch.arange(rows),
            torch.from_numpy(temperature),
            torch.from_numpy(seeds),
            torch.full((rows,), FIRST_POSITION + offset),
            apply_temperature=True,
            is_drafting=drafting,
        )
        ids: IntArray = drawn.numpy()
        return ids

    def uniforms(self, seeds: IntArray, positions: IntArray) -> FloatArray:
        """See `Drawing.uniforms`."""
        import torch

        from draftgate.lossless import v2_streams

        drawn = v2_streams.uniforms(torch.from_numpy(seeds), torch.from_numpy(positions))
        numbers: FloatArray = drawn.numpy()
        return numbers

    def match(self, batch: Batch, bonus: IntArray) -> IntArray:
        """See `Kernels.match`."""
        return self._verify(batch, bonus, np.zeros(len(batch.drafts)), np.zeros_like(batch.drafts))

    def accept(
        self, batch: Batch, bonus: IntArray, uniforms: FloatArray, recovered: IntArray
    ) -> IntArray:
        """See `Kernels.accept`."""
        # The kernels' generator stays below 1, in float32 too.
        below_one = float(np.nextafter(np.float32(1), np.float32(0)))
        return self._verify(batch, bonus, np.minimum(uniforms, below_one), recovered)

    def recover(self, batch: Batch, inverse_noise: FloatArray) -> IntArray:
        """See `Kernels.recover`. V2 draws one token a step, so each draft gets a step of its own,
        in which those before it are accepted and it is rejected.
        """
        recovered = np.full(len(batch.drafts), -1)
        rejections = reachable(batch)
        if not rejections:
            return recovered
        steps = rejecting_steps(batch, rejections)
        luck = np.zeros(len(steps.logits))
        luck[steps.bonus_rows - 1] = np.inf
        noise = inverse_noise[[rejection.request for rejection in rejections]]
        with given_uniforms(luck), given_noise(noise[::-1]):  # slots run backwards
            sampled, count = self._rejection_sample(
                steps, step_of(steps, None), np.arange(len(steps.logits))
            )
        for row, rejection in enumerate(rejections):
            assert count[row] == rejection.position + 1, "the kernel obeyed other numbers"
            token = batch.starts[rejection.request] + rejection.position
            recovered[token] = int(sampled[row, rejection.position])
        return recovered

    def expand(self, values: FloatArray | IntArray, lengths: IntArray) -> FloatArray | IntArray:
        """See `Kernels.expand`: V2 looks a request's value up by the slot of each row."""
        import torch

        slots = slots_of(len(lengths))
        by_slot = torch.from_numpy(values[::-1].copy())
        rows, offsets = expanded(lengths, slots)
        drafts = offsets.numpy() < np.repeat(lengths, lengths + 1)
        of_drafts: FloatArray | IntArray = by_slot[rows].numpy()[drafts]
        return of_drafts

    def _verify(
        self, batch: Batch, bonus: IntArray, uniforms: FloatArray, recovered: IntArray
    ) -> IntArray:
        """Rows get numbers of their own through their position, a serial number here."""
        rows = len(batch.logits)
        choices, luck = np.zeros(rows, np.int64), np.zeros(rows)
        choices[batch.bonus_rows], choices[batch.target_rows] = bonus, recovered
        luck[batch.target_rows] = uniforms
        step = step_of(batch, None)
        with given_uniforms(luck), given_choices(choices):
            sampled, count = self._rejection_sample(batch, step, np.arange(rows))
        return _padded(sampled, count)

    def _rejection_sample(
        self, batch: Batch, step: Step, positions: IntArray
    ) -> tuple[torch.Tensor, torch.Tensor]:
        import torch
        from vllm.v1.worker.gpu.spec_decode import rejection_sampler_utils

        inputs, states = step.inputs, step.sampler.sampling_states
        result: tuple[torch.Tensor, torch.Tensor] = rejection_sampler_utils.rejection_sample(
            step.logits,
            step.draft_logits,
            inputs.input_ids,
            inputs.cu_num_logits,
            torch.from_numpy(positions),
            inputs.idx_mapping,
            inputs.expanded_idx_mapping,
            inputs.expanded_local_pos,
            states.temperature.gpu,
            torch.arange(len(batch.lengths)),
            int(batch.lengths.max()),
            use_block_verification=self.verification == "block",
        )
        return result

    def _rejection_sampler(self, batch: Batch, step: Step) -> Any:
        import torch
        from vllm.v1.worker.gpu.spec_decode.rejection_sampler import RejectionSampler

        config = SimpleNamespace(
            num_speculative_tokens=int(batch.lengths.max()),
            enable_adaptive_verification=False,
            rejection_sample_method=self.verification,
        )
        return RejectionSampler(step.sampler, config, torch.device("cpu"))

    def _check(self) -> None:
        import torch
        from vllm.triton_utils import HAS_TRITON

        torch.set_num_threads(1)
        if not HAS_TRITON:
            raise SamplerError(f"{self.name} cannot run: this vLLM has no Triton kernels")
        if not torch.cuda.is_available():
            # What vLLM's CPU worker imports first: buffers without pinned memory.
            import vllm.v1.worker.cpu.shm  # noqa: F401


def _padded(sampled: torch.Tensor, count: torch.Tensor) -> IntArray:
    ids: IntArray = sampled.numpy()
    padded: IntArray = np.where(np.arange(ids.shape[1]) < count.numpy()[:, None], ids, -1)
    return padded


def _by_request(flat: Any, batch: Batch, width: int) -> Any:
    """Log-probabilities of V2, one row a row of logits, as V1 lays them out."""
    starts = (np.cumsum(batch.lengths + 1) - (batch.lengths + 1))[:, None]
    rows = np.minimum(starts + np.arange(width), starts + batch.lengths[:, None]).reshape(-1)
    return SimpleNamespace(
        logprob_token_ids=flat.logprob_token_ids[rows],
        logprobs=flat.logprobs[rows],
        selected_token_ranks=flat.selected_token_ranks[rows],
    )
