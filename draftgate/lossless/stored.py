"""Logits in the type in which a model computes them, which may have fewer bits than a sampler."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from draftgate.lossless.batch import Batch

if TYPE_CHECKING:
    import torch


def stored_logits(batch: Batch) -> torch.Tensor:
    """``batch.logits`` as ``batch.stored`` says; those of float32 share their memory."""
    import torch

    dtype: torch.dtype = getattr(torch, batch.stored)
    return torch.from_numpy(batch.logits).to(dtype)


def shortened(batch: Batch) -> Batch:
    """The batch with logits that bfloat16 holds exactly: the first 16 bits of each."""
    bits = batch.logits.view(np.uint32) & np.uint32(0xFFFF0000)
    return replace(batch, logits=bits.view(np.float32))
