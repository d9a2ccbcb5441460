"""Examples to padded batches of similar length, so that no document sees another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from draftgate.testbed import tokenizer as tok
from draftgate.testbed.corpus import Example

PROMPT_WEIGHT = 0.1
LENGTH_STEP = 32


@dataclass(frozen=True)
class Batch:
    """Token ids ``[B, T]`` (0 where padded), loss weights and a mask of copied answer tokens.

    ``weights[b, t]`` belongs to token ``t``: 1 on the answer and its end, ``PROMPT_WEIGHT`` on the
    prompt, 0 on padding. ``copied[b, t]`` is true for answer tokens that also stand in the prompt.
    """

    ids: Tensor
    weights: Tensor
    copied: Tensor

    @property
    def answers(self) -> Tensor:
        """True on answer tokens, ``[B, T]``."""
        return self.weights == 1.0


Encoded = tuple[list[int], int]
Encoder = Callable[[Example], Encoded]


def encoder(tokenizer: object) -> Encoder:
    """Function from an example to (token ids, length of the prompt part)."""

    def encode(example: Example) -> Encoded:
        prompt = tokenizer.encode(tok.chat_prompt(example.prompt), add_special_tokens=False)  # type: ignore[attr-defined]
        answer = tokenizer.encode(example.answer + tok.END, add_special_tokens=False)  # type: ignore[attr-defined]
        return prompt + answer, len(prompt)

    return encode


def collate(items: list[Encoded], length: int | None = None) -> Batch:
    """Pad to ``length``, by default to the longest item."""
    length = length or max(len(ids) for ids, _ in items)
    ids = torch.zeros(len(items), length, dtype=torch.long)
    weights = torch.zeros(len(items), length)
    copied = torch.zeros(len(items), length, dtype=torch.bool)
    for row, (tokens, split) in enumerate(items):
        ids[row, : len(tokens)] = torch.tensor(tokens)
        weights[row, :split] = PROMPT_WEIGHT
        weights[row, split : len(tokens)] = 1.0
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
        length = -(-len(item[0]) // LENGTH_STEP) * LENGTH_STEP
        waiting[length].append(item)
        if (len(waiting[length]) + 1) * length > tokens():
            yield collate(waiting.pop(length), length)
