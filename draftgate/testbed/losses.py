"""What the target and the heads are trained on, and how well they do."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from draftgate.testbed.batches import Batch
from draftgate.testbed.heads import Head, MtpHead, unroll
from draftgate.testbed.network import CausalLM
from draftgate.testbed.shapes import AUX_LAYERS

UNROLL = 4  # draft steps in training; k = 3 is what profiles use by default


def target_loss(network: CausalLM, batch: Batch) -> Tensor:
    """Weighted next-token cross entropy (scalar, nats)."""
    logits = network(batch.ids[:, :-1]).float()
    losses = F.cross_entropy(logits.flatten(0, 1), batch.ids[:, 1:].flatten(), reduction="none")
    weights = batch.weights[:, 1:].flatten()
    return (losses * weights).sum() / weights.sum()


@torch.no_grad()
def copy_accuracy(network: CausalLM, batch: Batch) -> tuple[int, int]:
    """(right, all) teacher-forced predictions of answer tokens that also stand in the prompt."""
    hits = network(batch.ids[:, :-1]).argmax(-1) == batch.ids[:, 1:]
    copied = batch.copied[:, 1:]
    return int((hits & copied).sum()), int(copied.sum())


@dataclass(frozen=True)
class Teacher:
    """What one forward pass of the target offers the drafts, without gradients.

    ``final [B, T, hidden]`` (after the norm), ``streams`` (auxiliary residuals), ``probs
    [B, T, vocab]``, ``choice [B, T]`` (argmax), ``embeddings [B, T, hidden]``.
    """

    final: Tensor
    streams: list[Tensor]
    probs: Tensor
    choice: Tensor
    embeddings: Tensor


@torch.no_grad()
def teach(target: CausalLM, ids: Tensor) -> Teacher:
    """Run the target over ``ids [B, T]``."""
    final, streams = target.model(ids, AUX_LAYERS)
    logits = target.lm_head(final).float()
    return Teacher(
        final, streams, logits.softmax(-1), logits.argmax(-1), target.model.embed_tokens(ids)
    )


@dataclass(frozen=True)
class Lesson:
    """Loss (scalar, nats) and the acceptance length estimated on the answers' tokens."""

    loss: Tensor
    acceptance_length: float


def draft_model_lesson(draft: nn.Module, teacher: Teacher, batch: Batch, steps: int) -> Lesson:
    """Distil the target into a stand-alone draft model."""
    logits = draft(batch.ids).float()
    losses = -(teacher.probs * logits.log_softmax(-1)).sum(-1)
    weights = F.pad(batch.weights[:, 1:], (0, 1))
    agree = logits.argmax(-1) == teacher.choice
    usable = batch.ids.shape[1] - steps
    runs = torch.stack([agree[:, s : s + usable] for s in range(steps)])
    return Lesson(
        (losses * weights).sum() / weights.sum(),
        _acceptance(runs, batch.answers[:, 1 : 1 + usable]),
    )


def head_lesson(
    head: Head, target: CausalLM, teacher: Teacher, batch: Batch, vocabulary: Tensor | None
) -> Lesson:
    """Distil the target into a head, over ``UNROLL`` draft steps.

    ``vocabulary``: target ids of a reduced draft vocabulary ``[draft vocab]``, or None.
    """
    usable = batch.ids.shape[1] - 1 - UNROLL
    embeddings = teacher.embeddings[:, 1:]
    if isinstance(head, MtpHead):  # vLLM: the embedding at position 0 is masked
        embeddings = F.pad(embeddings[:, 1:], (0, 0, 1, 0))
    hidden = head.first(teacher.final, teacher.streams)[:, :usable]
    steps = unroll(head, hidden, embeddings, UNROLL, target.lm_head)
    total, agreements = torch.zeros(()), []
    for step, logits in enumerate(steps):
        at = slice(1 + step, 1 + step + usable)
        probs = teacher.probs[:, at] if vocabulary is None else teacher.probs[:, at, vocabulary]
        losses = -(probs * logits.float().log_softmax(-1)).sum(-1)
        weights = batch.weights[:, 2 + step : 2 + step + usable]
        total = total + (losses * weights).sum() / weights.sum()
        choice = logits.argmax(-1) if vocabulary is None else vocabulary[logits.argmax(-1)]
        agreements.append(choice == teacher.choice[:, at])
    return Lesson(
        total / UNROLL, _acceptance(torch.stack(agreements), batch.answers[:, 2 : 2 + usable])
    )


def _acceptance(agree: Tensor, where: Tensor, k: int = 3) -> float:
    """1 + mean length of the agreeing prefix of ``k`` drafts; ``agree [steps, B, T]``."""
    prefix = agree[:k].long().cumprod(0).sum(0)
    return 1.0 + float(prefix[where].float().mean())
