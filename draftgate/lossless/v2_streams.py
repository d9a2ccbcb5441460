"""The V2 runner's random numbers of the acceptance test, many at once.

Imported where they are asked for: the kernel calls what the runner's own kernel calls at that time.
"""

from __future__ import annotations

from typing import Any

from vllm.triton_utils import tl, triton
from vllm.v1.worker.gpu.spec_decode.rejection_sampler_utils import tl_rand32

_BLOCK = 1024


@triton.jit  # type: ignore[untyped-decorator]
def _draw_kernel(out_ptr, seed_ptr, position_ptr, count, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < count
    seed = tl.load(seed_ptr + index, mask=inside)
    position = tl.load(position_ptr + index, mask=inside)
    tl.store(out_ptr + index, tl_rand32(seed, position, includes_zero=False), mask=inside)


def uniforms(seeds: Any, positions: Any) -> Any:
    """A float32 tensor [draws]; ``seeds`` and ``positions`` are int64 tensors [draws]."""
    import torch

    drawn = torch.empty(len(seeds), dtype=torch.float32, device=seeds.device)
    grid = (triton.cdiv(len(seeds), _BLOCK),)
    _draw_kernel[grid](drawn, seeds, positions, len(seeds), BLOCK=_BLOCK)
    return drawn
