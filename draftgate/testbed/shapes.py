"""Sizes of the tiny family, in one place: training, export and the GLM twin all read them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """Dimensions of one Llama-shaped network.

    ``head_dim`` 64: vLLM's CPU attention takes 32 as well, but torch trains that at half the speed.
    """

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    intermediate: int
    head_dim: int = 64
    norm_eps: float = 1e-5
    rope_theta: float = 10000.0


VOCAB_SIZE = 1024
MAX_POSITIONS = 1024
DRAFT_VOCAB_SIZE = 512

TARGET = Shape(hidden=192, layers=8, heads=3, kv_heads=3, intermediate=384)
DRAFT = Shape(hidden=128, layers=2, heads=2, kv_heads=1, intermediate=320)
HEAD = Shape(hidden=192, layers=1, heads=3, kv_heads=3, intermediate=384)

# EAGLE-3 reads the residual stream after these many layers of the target
# (vLLM: llama.py appends `hidden_states + residual` before running layer `idx`).
AUX_LAYERS = (2, 4, 6)
