"""Copy drills on bare tokens: they force the attention pattern that copying needs.

Words give the next one away by habit; random tokens do not. Small alphabets repeat pairs, so that
one token of context is not enough to find the place, as in code.
"""

from __future__ import annotations

import random

from draftgate.testbed.batches import Encoded

ALPHABETS = (32, 64, 128)
EASY_LENGTHS, HARD_LENGTHS = (8, 40), (32, 200)


def token_drill(
    rng: random.Random, ordinary: range, frame: tuple[int, int, int, int], *, hard: bool
) -> Encoded:
    """A random sequence and its repetition, in the chat frame.

    Easy: short, no token twice. Hard: long, from a small alphabet. ``ordinary``: ids of tokens
    that are not special. ``frame``: ids of bos, user, end, assistant.
    """
    bos, user, end, assistant = frame
    if hard:
        alphabet = rng.sample(ordinary, rng.choice(ALPHABETS))
        sequence = rng.choices(alphabet, k=rng.randint(*HARD_LENGTHS))
    else:
        sequence = rng.sample(ordinary, rng.randint(*EASY_LENGTHS))
    prompt = [bos, user, *sequence, end, assistant]
    return Encoded([*prompt, *sequence, end], len(prompt))
