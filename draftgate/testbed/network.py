"""Training-side Llama: the same arithmetic as vLLM's `llama.py`, without a KV cache.

transformers' Llama is not used here because the heads need its parts in other
arrangements (a block with a doubled input, attention over unrolled draft steps).
Parameter names follow the Hugging Face checkpoint format, so that a state dict *is* a checkpoint.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from draftgate.testbed.shapes import Shape


class RMSNorm(nn.Module):
    """Root-mean-square norm in float32, shape-preserving."""

    def __init__(self, dim: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x.float(), (x.shape[-1],), self.weight, self.eps)


def rope_tables(positions: Tensor, shape: Shape) -> tuple[Tensor, Tensor]:
    """cos and sin, each ``[T, head_dim]``, in the NeoX (half-rotated) layout."""
    half = torch.arange(0, shape.head_dim, 2, dtype=torch.float32) / shape.head_dim
    angles = positions.float()[:, None] / shape.rope_theta ** half[None, :]
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, tables: tuple[Tensor, Tensor]) -> Tensor:
    """Apply rotary embedding to ``x [B, heads, T, head_dim]``."""
    cos, sin = (t.to(x.dtype) for t in tables)
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Attention(nn.Module):
    """Grouped-query attention; ``input_dim`` differs from ``hidden`` in an EAGLE-3 head."""

    def __init__(self, shape: Shape, input_dim: int | None = None) -> None:
        super().__init__()
        width = input_dim or shape.hidden
        self.shape = shape
        self.q_proj = nn.Linear(width, shape.heads * shape.head_dim, bias=False)
        self.k_proj = nn.Linear(width, shape.kv_heads * shape.head_dim, bias=False)
        self.v_proj = nn.Linear(width, shape.kv_heads * shape.head_dim, bias=False)
        self.o_proj = nn.Linear(shape.heads * shape.head_dim, shape.hidden, bias=False)

    def project(self, x: Tensor, tables: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """q, k, v as ``[B, heads, T, head_dim]``, rotated, KV heads repeated."""
        batch, length, _ = x.shape
        q, k, v = (
            p(x).view(batch, length, -1, self.shape.head_dim).transpose(1, 2)
            for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        group = self.shape.heads // self.shape.kv_heads
        k, v = (t.repeat_interleave(group, dim=1) for t in (rotate(k, tables), v))
        return rotate(q, tables), k, v

    def merge(self, heads: Tensor) -> Tensor:
        """``[B, heads, T, head_dim]`` -> ``[B, T, hidden]``."""
        batch, _, length, _ = heads.shape
        out: Tensor = self.o_proj(heads.transpose(1, 2).reshape(batch, length, -1))
        return out

    def forward(self, x: Tensor, tables: tuple[Tensor, Tensor]) -> Tensor:
        q, k, v = self.project(x, tables)
        return self.merge(F.scaled_dot_product_attention(q, k, v, is_causal=True))


class MLP(nn.Module):
    """SwiGLU."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden, shape.intermediate, bias=False)
        self.up_proj = nn.Linear(shape.hidden, shape.intermediate, bias=False)
        self.down_proj = nn.Linear(shape.intermediate, shape.hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class Block(nn.Module):
    """One pre-norm decoder layer."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(shape.hidden, shape.norm_eps)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = RMSNorm(shape.hidden, shape.norm_eps)
        self.mlp = MLP(shape)

    def forward(self, x: Tensor, tables: tuple[Tensor, Tensor]) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), tables)
        out: Tensor = x + self.mlp(self.post_attention_layernorm(x))
        return out


class Backbone(nn.Module):
    """Embedding, layers and final norm."""

    def __init__(self, shape: Shape, vocab: int) -> None:
        super().__init__()
        self.shape = shape
        self.embed_tokens = nn.Embedding(vocab, shape.hidden)
        self.layers = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = RMSNorm(shape.hidden, shape.norm_eps)

    def forward(self, ids: Tensor, aux_layers: tuple[int, ...] = ()) -> tuple[Tensor, list[Tensor]]:
        """Final hidden states after the norm ``[B, T, hidden]``, and residual streams asked for."""
        x = self.embed_tokens(ids)
        tables = rope_tables(torch.arange(ids.shape[1]), self.shape)
        streams = []
        for index, layer in enumerate(self.layers):
            if index in aux_layers:
                streams.append(x)
            x = layer(x, tables)
        return self.norm(x), streams


class CausalLM(nn.Module):
    """Target and draft model: a Llama with an untied output head."""

    def __init__(self, shape: Shape, vocab: int) -> None:
        super().__init__()
        self.model = Backbone(shape, vocab)
        self.lm_head = nn.Linear(shape.hidden, vocab, bias=False)
        self.apply(_init)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits ``[B, T, vocab]``."""
        out: Tensor = self.lm_head(self.model(ids)[0])
        return out


def _init(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
