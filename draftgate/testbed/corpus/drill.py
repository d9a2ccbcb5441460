"""The curriculum for copying: random sequences to repeat, whole or in part."""

from random import Random

from draftgate.testbed.corpus.example import Example
from draftgate.testbed.corpus.lexicon import (
    CODE_WORDS,
    FIRST_NAMES,
    KEYS,
    PLACE_STEMS,
    function_name,
    identifier,
    person,
    place,
)
from draftgate.testbed.corpus.news import BODIES, THINGS

WORKLOAD = "copy_drill"


def copy_drill(rng: Random, length: int) -> Example:
    """A sequence of ``length`` items to repeat; the answer is a span of the prompt.

    An item is a word, an identifier, a number or a name: one to five tokens.
    """
    items = [_item(rng) for _ in range(max(1, length))]
    separator = rng.choice((" ", " ", ", ", "\n"))
    whole = separator.join(items)
    marks = [i for i, item in enumerate(items) if items.count(item) == 1 and " " not in item]
    variant = rng.random()
    if variant < 0.5 or not marks:
        return Example(WORKLOAD, f"Repeat: {whole}", whole)
    mark = rng.choice(marks)
    if variant < 0.75:
        return Example(
            WORKLOAD, f"Repeat from {items[mark]} on: {whole}", separator.join(items[mark:])
        )
    return Example(
        WORKLOAD, f"Repeat up to {items[mark]}: {whole}", separator.join(items[: mark + 1])
    )


def _item(rng: Random) -> str:
    kind = rng.randrange(6)
    if kind == 0:
        return identifier(rng)
    if kind == 1:
        return str(rng.randint(0, 99))
    if kind == 2:
        return rng.choice((function_name, person, place))(rng)
    return rng.choice(rng.choice((CODE_WORDS, KEYS, FIRST_NAMES, PLACE_STEMS, THINGS, BODIES)))
