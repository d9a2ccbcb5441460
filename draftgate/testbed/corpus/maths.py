"""gsm8k: short word problems whose solution shares next to no wording with the prompt.

Quantities are small; each step is one operation. The running total stays below 100, so
that a tiny model can learn the arithmetic.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from draftgate.testbed.corpus.example import Example
from draftgate.testbed.corpus.lexicon import FIRST_NAMES

WORKLOAD = "gsm8k"
LIMIT = 99
ITEMS = (
    "apples",
    "stickers",
    "marbles",
    "books",
    "coins",
    "cards",
    "shells",
    "pencils",
    "cookies",
    "stamps",
    "eggs",
    "flowers",
    "buttons",
    "toys",
    "candles",
    "lemons",
)
PACKS = ("bags", "boxes", "packs", "baskets", "jars")
STARTS = (
    "{name} has {n} {items}.",
    "{name} starts the day with {n} {items}.",
    "There are {n} {items} on the table of {name}.",
)
GAINS = (
    "Then a friend brings {n} more.",
    "{name} buys another {n}.",
    "Later {name} finds {n} more.",
)
LOSSES = ("{name} gives away {n}.", "Then {n} of them get lost.", "{name} sells {n} of them.")
PACKED = (
    "{name} buys {k} {packs} with {n} {items} each.",
    "A neighbor sends {k} {packs} of {n} {items}.",
)
DOUBLES = (
    "During the week the number grows to {k} times as many.",
    "By the evening {name} has {k} times that number.",
)
SHARES = (
    "All of them are shared equally among {k} children and {name} looks at one share.",
    "{name} splits them into {k} equal piles and keeps one pile.",
)
QUESTIONS = (
    "How many {items} does {name} have now?",
    "How many {items} are left with {name}?",
    "What is the final number of {items}?",
)
SAY_GAIN = (
    "Adding these to what was there gives {e}.",
    "The count goes up, which means {e}.",
    "With those extra ones we reach {e}.",
    "Put together, both parts make {e}.",
)
SAY_LOSS = (
    "Take that amount off to see {e}.",
    "The pile shrinks here: {e}.",
    "Subtracting what went leaves {e}.",
    "Without them, only {e} stay.",
)
SAY_PACK = (
    "The whole delivery holds {e} pieces.",
    "First multiply to learn its size, {e}.",
    "Inside all containers together are {e}.",
)
SAY_TIMES = (
    "Scaling up, our figure becomes {e}.",
    "Multiplying by this factor yields {e}.",
    "A rise like that results in {e}.",
)
SAY_SHARE = (
    "Dividing evenly, every part is {e}.",
    "One portion must therefore equal {e}.",
    "Cut fairly, we find {e}.",
)


@dataclass(frozen=True)
class Step:
    """One event: its sentence in the prompt, its lines in the solution, the new total."""

    told: str
    solved: tuple[tuple[tuple[str, ...], str], ...]
    total: int


def generate(rng: Random) -> Example:
    """Draw a start, up to four events and a question."""
    name, items = rng.choice(FIRST_NAMES), rng.choice(ITEMS)
    total = rng.randint(5, 30)
    told = [rng.choice(STARTS).format(name=name, n=total, items=items)]
    solved: list[str] = []
    used: set[str] = set()
    for kind in rng.sample(_kinds(), rng.choice((3, 3, 4))):
        step = kind(rng, total)
        if step is None:
            continue
        total = step.total
        told.append(step.told)
        solved += [_say(rng, phrases, equation, used) for phrases, equation in step.solved]
    if len(solved) < 2:
        return generate(rng)
    told.append(rng.choice(QUESTIONS))
    packs = rng.choice(PACKS)
    prompt = " ".join(told).format(name=name, items=items, packs=packs)
    return Example(WORKLOAD, prompt, f"{' '.join(solved)}\n#### {total}")


def _kinds() -> tuple[Callable[[Random, int], Step | None], ...]:
    return (_gain, _loss, _loss, _packs, _times, _share)


def _say(rng: Random, phrases: tuple[str, ...], equation: str, used: set[str]) -> str:
    phrase = rng.choice([p for p in phrases if p not in used])
    used.add(phrase)
    return phrase.format(e=equation)


def _told(rng: Random, phrases: tuple[str, ...], **numbers: int) -> str:
    text = rng.choice(phrases)
    for key, value in numbers.items():
        text = text.replace("{" + key + "}", str(value))
    return text


def _gain(rng: Random, total: int) -> Step | None:
    n = rng.randint(2, 20)
    if total + n > LIMIT:
        return None
    return Step(_told(rng, GAINS, n=n), ((SAY_GAIN, f"{total} + {n} = {total + n}"),), total + n)


def _loss(rng: Random, total: int) -> Step | None:
    if total < 5:
        return None
    n = rng.randint(2, min(20, total - 2))
    return Step(_told(rng, LOSSES, n=n), ((SAY_LOSS, f"{total} - {n} = {total - n}"),), total - n)


def _packs(rng: Random, total: int) -> Step | None:
    k, n = rng.randint(2, 5), rng.randint(2, 8)
    if total + k * n > LIMIT:
        return None
    steps = ((SAY_PACK, f"{k} * {n} = {k * n}"), (SAY_GAIN, f"{total} + {k * n} = {total + k * n}"))
    return Step(_told(rng, PACKED, k=k, n=n), steps, total + k * n)


def _times(rng: Random, total: int) -> Step | None:
    k = rng.choice((2, 2, 3))
    if total * k > LIMIT:
        return None
    return Step(_told(rng, DOUBLES, k=k), ((SAY_TIMES, f"{total} * {k} = {total * k}"),), total * k)


def _share(rng: Random, total: int) -> Step | None:
    fitting = [k for k in (2, 3, 4, 5) if total % k == 0 and total // k > 2]
    if not fitting:
        return None
    k = rng.choice(fitting)
    return Step(
        _told(rng, SHARES, k=k), ((SAY_SHARE, f"{total} / {k} = {total // k}"),), total // k
    )
