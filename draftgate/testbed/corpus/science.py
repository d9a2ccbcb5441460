"""gpqa: multiple-choice questions from a fixed table; the answer weighs every option."""

from random import Random

from draftgate.testbed.corpus.example import Example
from draftgate.testbed.corpus.science_facts import Kind, kinds

WORKLOAD = "gpqa"
LETTERS = "ABCD"
QUESTIONS = ("Which {noun} {relation} {value}?", "Which of these {noun}s {relation} {value}?")
WRONG = ("so it is out", "which does not fit", "so not this one")
RIGHT = ("which matches", "exactly what is asked", "so this fits")


def generate(rng: Random) -> Example:
    """Draw a fact and three entities of the same kind for which it does not hold."""
    kind = rng.choice(kinds())
    column = rng.randrange(len(kind.relations))
    right = rng.choice(kind.rows)
    value = right[column + 1]
    others = [row for row in kind.rows if row[column + 1] != value]
    rows = [right, *rng.sample(others, 3)]
    rng.shuffle(rows)
    return Example(
        WORKLOAD, _prompt(rng, kind, column, value, rows), _answer(rng, kind, column, right, rows)
    )


def _prompt(rng: Random, kind: Kind, column: int, value: str, rows: list[tuple[str, ...]]) -> str:
    noun = rng.choice(QUESTIONS).format(
        noun=kind.noun, relation=kind.relations[column], value=value
    )
    options = (f"({letter}) {row[0]}" for letter, row in zip(LETTERS, rows, strict=True))
    return "\n".join((noun, *options))


def _answer(
    rng: Random, kind: Kind, column: int, right: tuple[str, ...], rows: list[tuple[str, ...]]
) -> str:
    lines = []
    for letter, row in zip(LETTERS, rows, strict=True):
        verdict = rng.choice(RIGHT if row is right else WRONG)
        lines.append(f"({letter}) {row[0]} {kind.relations[column]} {row[column + 1]}, {verdict}.")
    return "\n".join((*lines, f"Answer: ({LETTERS[rows.index(right)]})"))
