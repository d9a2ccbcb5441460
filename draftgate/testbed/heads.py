"""Draft heads with the semantics that vLLM gives them, and their unrolled training pass.

At index ``t`` a head sees the embedding of token ``t + 1`` with the hidden state of ``t`` and
predicts token ``t + 2``; draft step ``s`` repeats that with its own output as the hidden state.
Sources: vLLM `llama_eagle.py`, `llama_eagle3.py`, `glm4_moe_mtp.py`.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from draftgate.testbed.network import MLP, Attention, RMSNorm, rope_tables
from draftgate.testbed.shapes import AUX_LAYERS, Shape


class Head(nn.Module):
    """One attention layer over (embedding, hidden state) pairs; subclasses say how they combine."""

    def __init__(self, shape: Shape, attention_width: int | None = None) -> None:
        super().__init__()
        self.shape = shape
        self.self_attn = Attention(shape, attention_width)
        self.post_attention_layernorm = RMSNorm(shape.hidden, shape.norm_eps)
        self.mlp = MLP(shape)

    def first(self, final: Tensor, streams: list[Tensor]) -> Tensor:
        """Hidden state of the first draft step, from the target's ``final`` norm output."""
        return final

    def combine(self, embedding: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """(input of attention, residual), each ``[B, T, ...]``."""
        raise NotImplementedError

    def finish(self, residual: Tensor, attended: Tensor) -> Tensor:
        """The state that the next draft step receives, ``[B, T, hidden]``."""
        x = residual + attended
        out: Tensor = x + self.mlp(self.post_attention_layernorm(x))
        return out

    def logits(self, state: Tensor, lm_head: nn.Module) -> Tensor:
        """Logits over the head's own vocabulary."""
        out: Tensor = lm_head(state)
        return out


class EagleHead(Head):
    """EAGLE: no input norm, no final norm, the target's output head."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.fc = nn.Linear(2 * shape.hidden, shape.hidden, bias=False)

    def combine(self, embedding: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        x = self.fc(torch.cat((embedding, hidden), dim=-1))
        return x, x


class Eagle3Head(Head):
    """EAGLE-3: three auxiliary streams in, its own output head over a reduced vocabulary."""

    def __init__(self, shape: Shape, draft_vocab: int) -> None:
        super().__init__(shape, attention_width=2 * shape.hidden)
        self.fc = nn.Linear(len(AUX_LAYERS) * shape.hidden, shape.hidden, bias=False)
        self.input_layernorm = RMSNorm(shape.hidden, shape.norm_eps)
        self.hidden_norm = RMSNorm(shape.hidden, shape.norm_eps)
        self.norm = RMSNorm(shape.hidden, shape.norm_eps)
        self.lm_head = nn.Linear(shape.hidden, draft_vocab, bias=False)

    def first(self, final: Tensor, streams: list[Tensor]) -> Tensor:
        out: Tensor = self.fc(torch.cat(streams, dim=-1))
        return out

    def combine(self, embedding: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        normed = (self.input_layernorm(embedding), self.hidden_norm(hidden))
        return torch.cat(normed, dim=-1), hidden

    def logits(self, state: Tensor, lm_head: nn.Module) -> Tensor:
        out: Tensor = self.lm_head(self.norm(state))
        return out


class MtpHead(Head):
    """GLM-4-MoE multi-token prediction layer, its MLP being the shared expert."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.enorm = RMSNorm(shape.hidden, shape.norm_eps)
        self.hnorm = RMSNorm(shape.hidden, shape.norm_eps)
        self.eh_proj = nn.Linear(2 * shape.hidden, shape.hidden, bias=False)
        self.input_layernorm = RMSNorm(shape.hidden, shape.norm_eps)
        self.shared_head_norm = RMSNorm(shape.hidden, shape.norm_eps)

    def combine(self, embedding: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        x = self.eh_proj(torch.cat((self.enorm(embedding), self.hnorm(hidden)), dim=-1))
        return self.input_layernorm(x), x

    def logits(self, state: Tensor, lm_head: nn.Module) -> Tensor:
        out: Tensor = lm_head(self.shared_head_norm(state))
        return out


def unroll(head: Head, hidden: Tensor, embeddings: Tensor, steps: int) -> list[Tensor]:
    """States of draft steps ``0..steps-1``, each ``[B, T, hidden]``.

    ``hidden [B, T, hidden]`` belongs to tokens ``0..T-1``; ``embeddings`` holds tokens
    ``1..T+steps-1``, so that step ``s`` reads ``embeddings[:, s : s + T]`` (the drafts are taken to
    be right). Keys of earlier positions come from the first step, as after a verification;
    the chain's own steps add one key each.
    """
    length = hidden.shape[1]
    causal = torch.full((length, length), float("-inf")).triu(1)
    outputs: list[Tensor] = []
    keys: list[Tensor] = []
    values: list[Tensor] = []
    for step in range(steps):
        embedding = embeddings[:, step : step + length]
        attention_input, residual = head.combine(embedding, hidden)
        tables = rope_tables(torch.arange(length) + step, head.shape)
        q, k, v = head.self_attn.project(attention_input, tables)
        keys.append(k)
        values.append(v)
        hidden = head.finish(residual, head.self_attn.merge(_attend(q, keys, values, causal)))
        outputs.append(hidden)
    return outputs


def _attend(q: Tensor, keys: list[Tensor], values: list[Tensor], causal: Tensor) -> Tensor:
    """Attention of one draft step: causal over step 0, plus one key for every later own step."""
    scale = q.shape[-1] ** -0.5
    past = (q @ keys[0].transpose(-1, -2)).float() * scale + causal
    own = [((q * k).sum(-1, keepdim=True)).float() * scale for k in keys[1:]]
    weights = torch.softmax(torch.cat([past, *own], dim=-1), dim=-1).to(q.dtype)
    length = q.shape[2]
    out = weights[..., :length] @ values[0]
    for index, value in enumerate(values[1:]):
        out = out + weights[..., length + index : length + index + 1] * value
    return out
