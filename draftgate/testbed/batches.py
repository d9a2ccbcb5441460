"""Examples to padded batches of similar length, so that no document sees another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor

from draftgate.testbed import tokenizer as tok
from draftgate.testbed.corpus import Example

PROMPT_WEIGHT = 0.1
EDIT_WEIGHT = 5.0  # a code edit is one or two tokens among two hundred that are copied
LENGTH_STEP = 32
MIN_RUN = 3  # tokens: shorter matches are chance


@dataclass(frozen=True)
class Batch:
    """Token ids ``[B, T]`` (0 where padded), loss weights and a mask of copied answer tokens.

    ``weights[b, t]`` belongs to token ``t``: 1 on the answer and its end (``EDIT_WEIGHT`` where
    it departs from the prompt's code), ``PROMPT_WEIGHT`` on the prompt, 0 on padding.
    ``copied[b, t]`` is true for answer tokens that also stand in the prompt.
    """

    ids: Tensor
    weights: Tensor
    copied: Tensor

    @property
    def answers(self) -> Tensor:
        """True on answer tokens, ``[B, T]``."""
        return self.weights >= 1.0


class Encoded(NamedTuple):
    """Token ids, length of the prompt part, and positions where code is edited."""

    ids: list[int]
    split: int
    edits: tuple[int, ...] = ()


Encoder = Callable[[Example], Encoded]


def encoder(tokenizer: object) -> Encoder:
    """Function from an example to token ids."""

    def encode(example: Example) -> Encoded:
        prompt = tokenizer.encode(tok.chat_prompt(example.prompt), add_special_tokens=False)  # type: ignore[attr-defined]
        answer = tokenizer.encode(example.answer + tok.END, add_special_tokens=False)  # type: ignore[attr-defined]
        edits = _edits(prompt, answer) if example.workload == "instructcoder" else ()
        return Encoded(prompt + answer, len(prompt), edits)

    return encode


def _edits(prompt: list[int], answer: list[int]) -> tuple[int, ...]:
    """Positions (in prompt + answer) of answer tokens that are not copied in a run, and of the
    first token after a deletion.
    """
    matcher = SequenceMatcher(None, prompt, answer, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size >= MIN_RUN]
    kept = {i for b in blocks for i in range(b.b, b.b + b.size)}
    after_deletion = {
        b.b for a, b in pairwise(blocks) if a.b + a.size == b.b and a.a + a.size != b.a
    }
    changed = after_deletion | (set(range(len(answer) - 1)) - kept)
    return tuple(len(prompt) + i for i in sorted(changed))


def collate(items: list[Encoded], length: int | None = None) -> Batch:
    """Pad to ``length``, by default to the longest item."""
    length = length or max(len(item.ids) for item in items)
    ids = torch.zeros(len(items), length, dtype=torch.long)
    weights = torch.zeros(len(items), length)
    copied = torch.zeros(len(items), length, dtype=torch.bool)
    for row, (tokens, split, edits) in enumerate(items):
        ids[row, : len(tokens)] = torch.tensor(tokens)
        weights[row, :split] = PROMPT_WEIGHT
        weights[row, split : len(tokens)] = 1.0
        weights[row, list(edits)] = EDIT_WEIGHT
        seen = set(tokens[:split])
        copied[row, split : len(tokens)] = torch.tensor([t in seen for t in tokens[split:]])
    return Batch(ids, weights, copied)


def batches(items: Iterator[Encoded], tokens: Callable[[], int]) -> Iterator[Batch]:
    """Batches of at most ``tokens()`` padded tokens, each of one length class.

    Lengths are rounded up to ``LENGTH_STEP``, so that the CPU's matrix kernels, which are made
    anew for every shape, see some twenty shapes instead of thousands.
    """
    waiting: dict[int, list[Encoded]] = defaultdict(list)
    for item in items:
        length = -(-len(item.ids) // LENGTH_STEP) * LENGTH_STEP
        waiting[length].append(item)
        if (len(waiting[length]) + 1) * length > tokens():
            yield collate(waiting.pop(length), length)
