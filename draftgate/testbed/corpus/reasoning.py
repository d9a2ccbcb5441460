"""aime: short questions with a long, iterative derivation over small numbers.

Ranges keep every iteration within seven lines of one shape: a target that goes one line too far
is still not a loop by the testbed's measure (a 4-gram more than eight times).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd
from random import Random

from draftgate.testbed.corpus.example import Example

WORKLOAD = "aime"
OPENING = "Let me think step by step."
MIN_CHARS, MAX_CHARS = 180, 480


@dataclass(frozen=True)
class Derivation:
    """A question, the lines of thought and the final number."""

    question: str
    lines: list[str]
    result: int


def generate(rng: Random) -> Example:
    """Draw problems until one has a derivation of the wanted length."""
    while True:
        kind = rng.choice(_kinds())
        for _ in range(20):
            drawn = kind(rng)
            answer = "\n".join((OPENING, *drawn.lines, f"The answer is \\boxed{{{drawn.result}}}."))
            if MIN_CHARS <= len(answer) <= MAX_CHARS:
                return Example(WORKLOAD, drawn.question, answer)


def _kinds() -> tuple[Callable[[Random], Derivation], ...]:
    return (_euclid, _power, _series, _recursion, _digit_sum, _base, _pairs)


def _euclid(rng: Random) -> Derivation:
    a, b = rng.randint(100, 250), rng.randint(40, 99)
    question = rng.choice(
        ("Find the greatest common divisor of {} and {}.", "What is gcd({}, {})?")
    ).format(a, b)
    lines = ["We use the algorithm of Euclid."]
    x, y = a, b
    while y:
        lines.append(f"Divide {x} by {y}: {x} = {x // y} * {y} + {x % y}.")
        lines.append(
            f"So gcd({x}, {y}) = gcd({y}, {x % y})."
            if x % y
            else f"The remainder is 0, so the gcd is {y}."
        )
        x, y = y, x % y
    lines.append(f"Wait, check: {a} = {x} * {a // x} and {b} = {x} * {b // x}, good.")
    return Derivation(question, lines, gcd(a, b))


def _power(rng: Random) -> Derivation:
    base, exponent, m = rng.randint(2, 9), rng.randint(9, 20), rng.randint(7, 19)
    question = rng.choice(
        ("Find the remainder when {0}^{1} is divided by {2}.", "Compute {0}^{1} modulo {2}.")
    ).format(base, exponent, m)
    lines = [f"Square repeatedly modulo {m}."]
    value, power, powers = base % m, 1, {1: base % m}
    lines.append(f"{base}^1 = {value} mod {m}.")
    while power * 2 <= exponent:
        square = value * value
        lines.append(
            f"{base}^{power * 2}: {value} * {value} = {square}, which is {square % m} mod {m}."
        )
        value, power = square % m, power * 2
        powers[power] = value
    parts = [p for p in sorted(powers, reverse=True) if exponent & p]
    lines.append(
        f"Now {exponent} = {' + '.join(map(str, parts))}."
        if len(parts) > 1
        else f"Here {exponent} is a power of 2."
    )
    result = powers[parts[0]]
    for p in parts[1:]:
        product = result * powers[p]
        lines.append(
            f"Multiply by {base}^{p}: {result} * {powers[p]} = {product}, which is {product % m} mod {m}."
        )
        result = product % m
    return Derivation(question, lines, result)


def _series(rng: Random) -> Derivation:
    a, d, n = rng.randint(1, 12), rng.randint(2, 9), rng.randint(4, 7)
    question = rng.choice(
        (
            "An arithmetic series starts with {0} and has difference {1}. Find the sum of its first {2} terms.",
            "Add the first {2} terms of the arithmetic sequence with first term {0} and step {1}.",
        )
    ).format(a, d, n)
    lines, term, total = [f"Term 1 is {a} and the sum is {a}."], a, a
    for i in range(2, n + 1):
        lines.append(
            f"Term {i}: {term} + {d} = {term + d}. Sum: {total} + {term + d} = {total + term + d}."
        )
        term, total = term + d, total + term + d
    lines.append(
        f"Wait, check: first plus last is {a} + {term} = {a + term}, times {n} is {(a + term) * n}, half is {total}, good."
    )
    return Derivation(question, lines, total)


def _recursion(rng: Random) -> Derivation:
    a, p, q, m, n = (
        rng.randint(1, 9),
        rng.randint(2, 4),
        rng.randint(1, 9),
        rng.randint(11, 19),
        rng.randint(4, 7),
    )
    question = rng.choice(
        (
            "Let a_1 = {0} and let a_(n+1) be the remainder of {1} * a_n + {2} on division by {3}. Find a_{4}.",
            "A sequence starts at a_1 = {0}. "
            "Each next term is {1} times the last plus {2}, taken modulo {3}. What is a_{4}?",
        )
    ).format(a, p, q, m, n)
    lines, value = [f"We start with a_1 = {a}."], a
    for i in range(2, n + 1):
        raw = p * value
        lines.append(
            f"For a_{i}: {p} * {value} = {raw}, then {raw} + {q} = {raw + q}, so a_{i} = {(raw + q) % m}."
        )
        value = (raw + q) % m
    return Derivation(question, lines, value)


def _digit_sum(rng: Random) -> Derivation:
    low, wanted = rng.randint(20, 80), rng.randint(5, 12)
    high = low + rng.randint(4, 6)
    question = rng.choice(
        (
            "How many integers from {0} to {1} have digit sum at least {2}?",
            "Count the numbers between {0} and {1} inclusive whose digits add up to {2} or more.",
        )
    ).format(low, high, wanted)
    lines, count = ["Go through the numbers and keep a count."], 0
    for n in range(low, high + 1):
        x, y = divmod(n, 10)
        hit = x + y >= wanted
        count += hit
        lines.append(f"{n}: {x} + {y} = {x + y}, {'yes' if hit else 'no'}, count {count}.")
    return Derivation(question, lines, count)


def _base(rng: Random) -> Derivation:
    n, b = rng.randint(40, 120), rng.randint(2, 5)
    question = rng.choice(
        (
            "Write {0} in base {1} and find the sum of its digits.",
            "What is the digit sum of {0} in base {1}?",
        )
    ).format(n, b)
    lines, x, digits = [f"Divide by {b} again and again."], n, []
    while x:
        lines.append(f"{x} = {b} * {x // b} + {x % b}, digit {x % b}.")
        digits.append(x % b)
        x //= b
    lines.append(f"From last to first: {' '.join(map(str, reversed(digits)))}.")
    value = digits[-1]
    lines.append(f"Wait, check: start with {value}.")
    for digit in reversed(digits[:-1]):
        lines.append(f"{value} * {b} + {digit} = {value * b + digit}.")
        value = value * b + digit
    lines.append(f"Good. The digits add up to {sum(digits)}.")
    return Derivation(question, lines, sum(digits))


def _pairs(rng: Random) -> Derivation:
    a, b = rng.randint(2, 4), rng.randint(2, 5)
    n = a * rng.randint(4, 7) + b
    question = rng.choice(
        (
            "How many pairs of positive integers (x, y) satisfy {0}x + {1}y = {2}?",
            "Count the positive integer solutions (x, y) of {0}x + {1}y = {2}.",
        )
    ).format(a, b, n)
    lines, count, x = ["Go through the cases for x."], 0, 1
    while n - a * x >= b:
        rest = n - a * x
        hit = rest % b == 0
        count += hit
        outcome = (
            f"y = {rest // b}, count {count}" if hit else f"not divisible by {b}, count {count}"
        )
        lines.append(f"x = {x}: {n} - {a * x} = {rest}, {outcome}.")
        x += 1
    lines.append(
        f"For x = {x} the rest {n - a * x} is too small."
        if n > a * x
        else f"For x = {x} nothing is left."
    )
    return Derivation(question, lines, count)
