"""What the target and the heads are trained on, and how well they do."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from draftgate.testbed.batches import Batch
from draftgate.testbed.heads import Head, MtpHead, unroll
from draftgate.testbed.network import CausalLM
from draftgate.testbed.shapes import AUX_LAYERS

UNROLL = 3  # draft steps in training; k = 3 is what profiles use by default


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

    Only predictions of answer tokens matter: ``rows`` and ``at`` ``[N]`` say where they are made
    (sequence, position), ``probs [N, vocab]`` and ``choice [N]`` (argmax) what the target predicts.
    ``final [B, T, hidden]`` is its state after the norm, ``streams`` the auxiliary residuals,
    ``embeddings [B, T, hidden]`` those of the input.
    """

    final: Tensor
    streams: list[Tensor]
    embeddings: Tensor
    rows: Tensor
    at: Tensor
    probs: Tensor
    choice: Tensor


@torch.no_grad()
def teach(target: CausalLM, batch: Batch) -> Teacher:
    """Run the target over a batch."""
    final, streams = target.model(batch.ids, AUX_LAYERS)
    rows, at = batch.answers[:, 1:].nonzero(as_tuple=True)
    logits = target.lm_head(final[rows, at]).float()
    embeddings = target.model.embed_tokens(batch.ids)
    return Teacher(final, streams, embeddings, rows, at, logits.softmax(-1), logits.argmax(-1))


@dataclass(frozen=True)
class Lesson:
    """Loss (scalar, nats) and the acceptance length estimated on the answers' tokens."""

    loss: Tensor
    acceptance_length: float


def draft_model_lesson(draft: CausalLM, teacher: Teacher, batch: Batch) -> Lesson:
    """Distil the target into a stand-alone draft model."""
    state = draft.model(batch.ids)[0]
    logits = draft.lm_head(state[teacher.rows, teacher.at]).float()
    right = torch.zeros_like(batch.ids, dtype=torch.bool)
    right[teacher.rows, teacher.at] = logits.argmax(-1) == teacher.choice
    steps = torch.stack([right.roll(-step, dims=1) for step in range(UNROLL)])
    return Lesson(_distance(teacher.probs, logits), _acceptance(steps, teacher))


def head_lesson(
    head: Head, target: CausalLM, teacher: Teacher, batch: Batch, vocabulary: Tensor | None
) -> Lesson:
    """Distil the target into a head, over ``UNROLL`` draft steps.

    ``vocabulary``: target ids of a reduced draft vocabulary ``[draft vocab]``, or None.
    """
    embeddings = F.pad(teacher.embeddings[:, 1:], (0, 0, 0, UNROLL))
    if isinstance(head, MtpHead):  # vLLM: the embedding at position 0 is masked
        embeddings = F.pad(embeddings[:, 1:], (0, 0, 1, 0))
    hidden = head.first(teacher.final, teacher.streams)[:, :-1]
    probs = teacher.probs if vocabulary is None else teacher.probs[:, vocabulary]
    total = torch.zeros(())
    right = torch.zeros(UNROLL, *batch.ids.shape, dtype=torch.bool)
    for step, state in enumerate(unroll(head, hidden, embeddings, UNROLL)):
        start = teacher.at - 1 - step  # where the chain began whose draft ``step`` this is
        logits = head.logits(state[teacher.rows, start], target.lm_head).float()
        total = total + _distance(probs, logits)
        choice = logits.argmax(-1) if vocabulary is None else vocabulary[logits.argmax(-1)]
        right[step, teacher.rows, start + 1] = choice == teacher.choice
    return Lesson(total / UNROLL, _acceptance(right, teacher))


def _distance(probs: Tensor, logits: Tensor) -> Tensor:
    """Mean cross entropy of the draft's distribution under the target's."""
    return -(probs * logits.log_softmax(-1)).sum(-1).mean()


def _acceptance(right: Tensor, teacher: Teacher) -> float:
    """1 + mean length of the run of right drafts; ``right[s, b, t]``: draft ``s`` of a chain that
    begins by predicting what follows ``t``. Chains cut off by the answer's end count as they are.
    """
    runs = right.long().cumprod(0).sum(0)
    return 1.0 + float(runs[teacher.rows, teacher.at].float().mean())
