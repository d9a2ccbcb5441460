"""The stages of the recipe: tokenizer, target, drafts; each resumable, each leaving files."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from draftgate.testbed import corpus, losses, optimisers
from draftgate.testbed import tokenizer as tok
from draftgate.testbed.batches import Batch, Encoded, Encoder, batches, collate, encoder
from draftgate.testbed.drills import token_drill
from draftgate.testbed.heads import Eagle3Head, EagleHead, Head, MtpHead
from draftgate.testbed.network import CausalLM
from draftgate.testbed.progress import Reporter
from draftgate.testbed.shapes import DRAFT, DRAFT_VOCAB_SIZE, HEAD, TARGET, VOCAB_SIZE, Shape
from draftgate.testbed.training import Run, mixed_precision, train

SEED = 2601
DRAFT_BATCH = 4096  # tokens
TARGET_RATE, DRAFT_RATE = 4e-3, 4e-3
PRETRAINING = 0.4  # of the target's tokens, for the draft model
# Share of the draft tokens: a draft that is too good cannot gain, nor rank below n-gram anywhere.
SCHOOLING = {"eagle3": 0.75, "mtp": 0.75}
CHECK_EVERY = 100
ORDINARY = range(5, VOCAB_SIZE)  # ids of tokens that are not special


class GateError(Exception):
    """A stage's result is not good enough for the next one to start."""


@dataclass(frozen=True)
class Workshop:
    """Where a build works and how much it may spend, in tokens."""

    folder: Path
    target_tokens: int
    draft_tokens: int
    reporter: Reporter

    @property
    def tokenizer_folder(self) -> Path:
        """Where the tokenizer is saved."""
        return self.folder / "tokenizer"

    def encode(self) -> Encoder:
        """The encoder of the trained tokenizer."""
        return encoder(tok.load(self.tokenizer_folder))


def train_tokenizer(shop: Workshop) -> None:
    """BPE on 12,000 examples of the mixture."""
    if not (shop.tokenizer_folder / "tokenizer.json").exists():
        tok.train(islice(corpus.stream(SEED), 12_000), shop.tokenizer_folder)


def curriculum(
    rng: random.Random, encode: Encoder, progress: Callable[[], float]
) -> Iterator[Encoded]:
    """Copy drills first, alone and easy; then more and more of the mixture.

    A network that has seen text before it can copy does not learn to copy afterwards: 8 million
    tokens of the mixture left it at 2 % of a drill's tokens.
    """
    mixture = corpus.stream(rng.randrange(2**62))
    while True:
        part = _part(progress())
        if rng.random() >= part.drills:
            yield encode(next(mixture))
        elif rng.random() < part.words:
            yield encode(corpus.copy_drill(rng, rng.randint(4, 64)))
        else:
            yield token_drill(rng, ORDINARY, tok.FRAME, hard=rng.random() < part.hard)


@dataclass(frozen=True)
class Part:
    """A part of the curriculum: share of drills, of those with words, of the others hard ones.

    ``batch``: tokens a step; small at first, because learning to copy takes steps, not tokens.
    """

    until: float
    drills: float
    words: float
    hard: float
    batch: int


CURRICULUM = (
    Part(until=0.13, drills=1.0, words=0.0, hard=0.0, batch=4096),
    Part(until=0.18, drills=0.6, words=0.3, hard=0.5, batch=6144),
    Part(until=0.26, drills=0.3, words=0.3, hard=0.8, batch=8192),
    Part(until=1.0, drills=0.06, words=0.3, hard=0.8, batch=8192),
)


def _part(progress: float) -> Part:
    return next((p for p in CURRICULUM if progress < p.until), CURRICULUM[-1])


def train_target(shop: Workshop) -> CausalLM:
    """Train (or load) the target; raises GateError where it has not learned to copy."""
    network = _train_language_model(shop, "target", TARGET, shop.target_tokens)
    require_copying(copying(network, held_out_batches(shop.encode())))
    return network


def train_draft_model(shop: Workshop) -> CausalLM:
    """Train (or load) the draft model on the target's curriculum, before it is distilled.

    Distillation alone, which sees no drills, leaves it unable to copy from the prompt.
    """
    budget = round(PRETRAINING * shop.target_tokens)
    return _train_language_model(shop, "draft_model", DRAFT, budget)


def _train_language_model(shop: Workshop, name: str, shape: Shape, budget: int) -> CausalLM:
    torch.manual_seed(SEED)
    network = CausalLM(shape, VOCAB_SIZE)
    run = Run(shop.folder, name, budget)
    optimiser = optimisers.build(network, TARGET_RATE)
    if saved := run.load():
        network.load_state_dict(saved["network"])
        optimiser.load_state_dict(saved["optimiser"])
    encode = shop.encode()
    held_out = held_out_batches(encode)

    def learn(batch: Batch, progress: float) -> dict[str, float]:
        with mixed_precision():
            loss = losses.target_loss(network, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step(progress)
        values = {"loss": loss.item()}
        if run.step % CHECK_EVERY == CHECK_EVERY - 1:
            values |= copying(network, held_out)
        return values

    train(
        run,
        lambda rng: batches(
            curriculum(rng, encode, lambda: run.progress), lambda: _part(run.progress).batch
        ),
        learn,
        lambda: {"network": network.state_dict(), "optimiser": optimiser.state_dict()},
        shop.reporter,
    )
    return network.eval()


def held_out_batches(encode: Encoder, n: int = 24) -> dict[str, Batch]:
    """One evaluation batch a workload, and two of token drills."""
    found = {w: collate([encode(e) for e in corpus.evaluation(w, n)]) for w in corpus.WORKLOADS}
    for name, hard in (("easy-drill", False), ("hard-drill", True)):
        rng = random.Random(SEED)
        items = [token_drill(rng, ORDINARY, tok.FRAME, hard=hard) for _ in range(n)]
        found[name] = collate(items)
    return found


def copying(network: CausalLM, held_out: dict[str, Batch]) -> dict[str, float]:
    """Teacher-forced accuracy on copied answer tokens, by workload."""
    with mixed_precision():
        counts = {w: losses.copy_accuracy(network, b) for w, b in held_out.items()}
    return {f"copy/{w}": right / total for w, (right, total) in counts.items()}


def require_copying(accuracy: dict[str, float], least: float = 0.9) -> None:
    """The gate between target and drafts."""
    for workload in ("instructcoder", "cnn_dailymail"):
        value = accuracy[f"copy/{workload}"]
        if value < least:
            raise GateError(
                f"the target copies {value:.3f} of the answer tokens that stand in the prompt on "
                f"{workload}, at least {least} is needed; run again with more --target-tokens"
            )


def draft_vocabulary(encode: Encoder) -> Tensor:
    """The ids most frequent in answers, ascending, ``[DRAFT_VOCAB_SIZE]``."""
    counts = torch.zeros(VOCAB_SIZE)
    for example in islice(corpus.stream(SEED + 1), 3000):
        item = encode(example)
        counts += torch.bincount(torch.tensor(item.ids[item.split :]), minlength=VOCAB_SIZE)
    return counts.topk(DRAFT_VOCAB_SIZE).indices.sort().values


def new_drafts(draft_model: CausalLM) -> nn.ModuleDict:
    """The draft model and untrained heads, by variant."""
    torch.manual_seed(SEED + 1)
    return nn.ModuleDict(
        {
            "draft_model": draft_model.train(),
            "eagle": EagleHead(HEAD),
            "eagle3": Eagle3Head(HEAD, DRAFT_VOCAB_SIZE),
            "mtp": MtpHead(HEAD),
        }
    )


def train_drafts(
    shop: Workshop, target: CausalLM, draft_model: CausalLM
) -> tuple[nn.ModuleDict, Tensor]:
    """Distil the target into all drafts at once, one target pass serving the four."""
    target.requires_grad_(False)
    drafts, encode = new_drafts(draft_model), shop.encode()
    vocabulary = draft_vocabulary(encode)
    parts = {name: optimisers.build(draft, DRAFT_RATE) for name, draft in drafts.items()}
    run = Run(shop.folder, "drafts", shop.draft_tokens)
    if saved := run.load():
        drafts.load_state_dict(saved["drafts"])
        for name, part in parts.items():
            part.load_state_dict(saved["optimisers"][name])
    teach = partial(_teach_all, target, drafts, parts, vocabulary)

    def snapshot() -> dict[str, Any]:
        states = {name: part.state_dict() for name, part in parts.items()}
        return {"drafts": drafts.state_dict(), "optimisers": states}

    def source(rng: random.Random) -> Iterator[Batch]:
        return batches(map(encode, corpus.stream(rng.randrange(2**62))), lambda: DRAFT_BATCH)

    train(run, source, teach, snapshot, shop.reporter)
    return drafts.eval(), vocabulary


def _teach_all(
    target: CausalLM,
    drafts: nn.ModuleDict,
    parts: dict[str, optimisers.Optimisers],
    vocabulary: Tensor,
    batch: Batch,
    progress: float,
) -> dict[str, float]:
    values = {}
    with mixed_precision():
        teacher = losses.teach(target, batch)
    for name, draft in drafts.items():
        own_progress = progress / SCHOOLING.get(name, 1.0)
        if own_progress >= 1.0:
            continue
        with mixed_precision():
            lesson = _lesson(name, draft, target, teacher, batch, vocabulary)
        lesson.loss.backward()  # type: ignore[no-untyped-call]
        parts[name].step(own_progress)
        values[name] = lesson.acceptance_length
    return values


def _lesson(
    name: str,
    draft: nn.Module,
    target: CausalLM,
    teacher: losses.Teacher,
    batch: Batch,
    vocabulary: Tensor,
) -> losses.Lesson:
    if isinstance(draft, Head):
        reduced = vocabulary if name == "eagle3" else None
        return losses.head_lesson(draft, target, teacher, batch, reduced)
    assert isinstance(draft, CausalLM)
    return losses.draft_model_lesson(draft, teacher, batch)
