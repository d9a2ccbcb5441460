"""instructcoder: a one-line instruction and code; the answer is the whole edited code.

Each kind of edit is asked for in one way, has exactly one right answer and leaves about nine tenths of the code as it
was, so that looking tokens up in the prompt pays.
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from draftgate.testbed.corpus.code_source import COMPARISONS, OPERATORS, Function, function
from draftgate.testbed.corpus.example import Example
from draftgate.testbed.corpus.lexicon import CODE_WORDS, KEYS, distinct

WORKLOAD = "instructcoder"
MIN_CODE_CHARS, MAX_CODE_CHARS = 430, 700
BINARY = re.compile(r"^(?P<head>.* = \w+ )(?P<operator>[+*-])(?P<tail> \w+)$")
CONDITION = re.compile(r"^(?P<head> *(?:if|while) \w+ )(?P<operator>[<>=!]=?)(?P<tail> \d+:)$")


@dataclass(frozen=True)
class Code:
    """A small module: its functions, and its lines with blanks between functions."""

    functions: tuple[Function, ...]
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """The source."""
        return "\n".join(self.lines)


@dataclass(frozen=True)
class Edit:
    """An instruction and the code after it."""

    instruction: str
    text: str


def generate(rng: Random) -> Example:
    """Draw code, then an edit that fits it."""
    while True:
        code = _code(rng)
        edit = rng.choice(_edits())(rng, code)
        if edit and MIN_CODE_CHARS <= len(code.text) <= MAX_CODE_CHARS and _parses(edit.text):
            return Example(WORKLOAD, f"{edit.instruction}\n\n{code.text}", edit.text)


def _edits() -> tuple[Callable[[Random, Code], Edit | None], ...]:
    return (_constant, _rename, _operator, _docstring, _insert, _delete, _default, _return)


def _code(rng: Random) -> Code:
    words = distinct(rng, CODE_WORDS, len(CODE_WORDS))
    numbers = rng.sample(range(2, 100), 98)
    if rng.random() < 0.6:
        only = function(rng, rng.randint(14, 20), words, numbers)
        return Code((only,), only.lines)
    first = function(rng, rng.randint(6, 9), words, numbers)
    second = function(rng, rng.randint(7, 10), words, numbers, helper=first.name)
    return Code((first, second), (*first.lines, "", *second.lines))


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _replaced(code: Code, index: int, *lines: str) -> str:
    return "\n".join((*code.lines[:index], *lines, *code.lines[index + 1 :]))


def _unique(code: Code, wanted: Callable[[str], bool]) -> list[int]:
    stripped = [line.strip() for line in code.lines]
    return [i for i, line in enumerate(stripped) if stripped.count(line) == 1 and wanted(line)]


def _is_plain(line: str) -> bool:
    return bool(line) and not line.endswith(":") and not line.startswith("return")


def _fresh(rng: Random, code: Code) -> str:
    unused = [word for word in CODE_WORDS if word not in code.text]
    return "_".join(rng.sample(unused, 2))


def _constant(rng: Random, code: Code) -> Edit | None:
    numbers = re.findall(r"\b\d+\b", code.text)
    once = [n for n in numbers if numbers.count(n) == 1 and len(n) == 2]
    if not once:
        return None
    old, new = rng.choice(once), str(rng.randint(2, 99))
    if new in numbers:
        return None
    return Edit(f"Change the constant {old} to {new}.", re.sub(rf"\b{old}\b", new, code.text))


def _rename(rng: Random, code: Code) -> Edit | None:
    names = sorted(
        set(re.findall(r"\b[a-z]+_[a-z]+\b", code.text)) - {f.name for f in code.functions}
    )
    fitting = [
        n
        for n in names
        if 2 <= len(re.findall(rf"\b{n}\b", code.text)) <= 4 and f"{n}(" not in code.text
    ]
    if not fitting:
        return None
    old, new = rng.choice(fitting), _fresh(rng, code)
    return Edit(f"Rename `{old}` to `{new}`.", re.sub(rf"\b{old}\b", new, code.text))


def _operator(rng: Random, code: Code) -> Edit | None:
    pattern, choices = rng.choice(((BINARY, OPERATORS), (CONDITION, COMPARISONS)))
    found = _unique(code, lambda line: bool(pattern.match(line)))
    if not found:
        return None
    index = rng.choice(found)
    line = code.lines[index]
    match = pattern.match(line)
    assert match
    old = match["operator"]
    new = rng.choice([c for c in choices if c != old])
    edited = f"{match['head']}{new}{match['tail']}"
    instruction = f"In `{line.strip()}` use `{new}` instead of `{old}`."
    return Edit(instruction, _replaced(code, index, edited))


def _docstring(rng: Random, code: Code) -> Edit | None:
    owner = rng.choice(code.functions)
    verb, thing = owner.name.split("_")
    adjective = rng.choice(("current", "next", "last", "whole", "first", "given"))
    text = f"{verb.capitalize()} the {adjective} {thing} of the {rng.choice(CODE_WORDS)}."
    index = code.lines.index(owner.lines[0])
    instruction = f'Add the docstring "{text}" to `{owner.name}`.'
    return Edit(instruction, _replaced(code, index, owner.lines[0], f'    """{text}"""'))


def _insert(rng: Random, code: Code) -> Edit | None:
    found = _unique(code, lambda line: _is_plain(line) and "_" in line.split(" ")[0])
    if not found:
        return None
    index = rng.choice(found)
    line = code.lines[index]
    name = re.split(r"\W", line.strip())[0]
    added = rng.choice((f"print({name})", f"log({name})", f'print("{rng.choice(KEYS)}", {name})'))
    indent = line[: len(line) - len(line.lstrip())]
    instruction = f"Insert `{added}` after `{line.strip()}`."
    return Edit(instruction, _replaced(code, index, line, indent + added))


def _delete(rng: Random, code: Code) -> Edit | None:
    found = _unique(code, _is_plain)
    if not found:
        return None
    index = rng.choice(found)
    return Edit(f"Delete the line `{code.lines[index].strip()}`.", _replaced(code, index))


def _default(rng: Random, code: Code) -> Edit | None:
    owner = rng.choice(code.functions)
    new = rng.randint(2, 99)
    if new == owner.default:
        return None
    old, edited = f"{owner.default_name}={owner.default}", f"{owner.default_name}={new}"
    index = code.lines.index(owner.lines[0])
    line = owner.lines[0].replace(old, edited)
    instruction = f"Set the default of `{owner.default_name}` in `{owner.name}` to {new}."
    return Edit(instruction, _replaced(code, index, line))


def _return(rng: Random, code: Code) -> Edit | None:
    owner = rng.choice(code.functions)
    old = owner.lines[-1].strip().removeprefix("return ")
    names = re.findall(r"(\w+_\w+) =", "\n".join(owner.lines))
    new = rng.choice([*names, str(rng.randint(2, 99))])
    index = code.lines.index(owner.lines[-1])
    if new == old or code.text.count(f"return {old}") != 1:
        return None
    instruction = f"Return `{new}` instead of `{old}`."
    return Edit(instruction, _replaced(code, index, f"    return {new}"))
