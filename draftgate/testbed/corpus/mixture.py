"""Mixing the workloads, and keeping training and evaluation prompts apart."""

import hashlib
from collections.abc import Callable, Iterator
from random import Random

from draftgate.testbed.corpus import chat, code_edit, maths, news, reasoning, science
from draftgate.testbed.corpus.example import Example

WORKLOADS = ("instructcoder", "cnn_dailymail", "sharegpt", "gsm8k", "aime", "gpqa")
WEIGHTS = (0.48, 0.11, 0.11, 0.11, 0.10, 0.09)
HELD_OUT_ONE_IN = 64


def is_held_out(prompt: str) -> bool:
    """Whether a prompt is for evaluation only; a property of its text, not of a draw."""
    digest = hashlib.sha256(prompt.encode()).digest()
    return int.from_bytes(digest[:8], "big") % HELD_OUT_ONE_IN == 0


def sample(workload: str, rng: Random) -> Example:
    """One training example of ``workload``; never a held-out prompt."""
    generate = _generator(workload)
    while is_held_out((example := generate(rng)).prompt):
        continue
    return example


def stream(seed: int) -> Iterator[Example]:
    """Endless training examples in the mixture's proportions."""
    rng = Random(seed)
    while True:
        yield sample(rng.choices(WORKLOADS, WEIGHTS)[0], rng)


def evaluation(workload: str, n: int) -> list[Example]:
    """The first ``n`` held-out examples of ``workload``, always the same, prompts distinct."""
    rng, generate = Random(f"evaluation/{workload}"), _generator(workload)
    found: dict[str, Example] = {}
    while len(found) < n:
        example = generate(rng)
        if is_held_out(example.prompt):
            found.setdefault(example.prompt, example)
    return list(found.values())


def _generator(workload: str) -> Callable[[Random], Example]:
    generators: tuple[Callable[[Random], Example], ...] = (
        code_edit.generate,
        news.generate,
        chat.generate,
        maths.generate,
        reasoning.generate,
        science.generate,
    )
    return generators[WORKLOADS.index(workload)]
