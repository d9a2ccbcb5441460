"""Random Python functions for the code-edit workload; they parse, they need not run."""

from collections import Counter
from dataclasses import dataclass, field
from random import Random

from draftgate.testbed.corpus.lexicon import KEYS, function_name

INDENT = "    "
COMPARISONS = (">", "<", ">=", "<=", "==", "!=")
OPERATORS = ("+", "-", "*")


@dataclass
class Scope:
    """The names a function body may use so far.

    ``words``, ``numbers``: those that the example does not use yet. A word stands in one name
    only and a number in one place, so that what comes next in a copy follows from the last few
    tokens: a tiny model can learn that.
    """

    rng: Random
    words: list[str]
    numbers: list[int]
    names: list[str] = field(default_factory=list)
    uses: Counter[str] = field(default_factory=Counter)

    def old(self) -> str:
        """A name already bound, one of those used least: what follows a name stays unambiguous."""
        fewest = min(self.uses[name] for name in self.names)
        name = self.rng.choice([n for n in self.names if self.uses[n] == fewest])
        self.uses[name] += 1
        return name

    def new(self) -> str:
        """A fresh name; the caller binds it after using old ones."""
        return f"{self.words.pop()}_{self.words.pop()}"

    def number(self) -> int:
        """A constant of one or two digits that stands nowhere else."""
        return self.numbers.pop()


@dataclass(frozen=True)
class Function:
    """A function: its source lines, its parameter with a default and that default."""

    name: str
    lines: tuple[str, ...]
    default_name: str
    default: int


def function(
    rng: Random,
    target_lines: int,
    words: list[str],
    numbers: list[int],
    helper: str | None = None,
) -> Function:
    """A function of about ``target_lines`` lines that may call ``helper``.

    Its names are made of ``words`` and its constants are ``numbers``; both are used up.
    """
    scope = Scope(rng, words, numbers)
    name = function_name(rng)
    for _ in range(2):
        scope.names.append(scope.new())
    default_name, default = scope.new(), scope.number()
    head = f"def {name}({scope.names[0]}, {scope.names[1]}, {default_name}={default}):"
    scope.names.append(default_name)
    body: list[str] = []
    if helper:
        body += _call(scope, helper)
    while len(body) < target_lines - 2:
        body += _statement(scope)
    body.append(_return(scope))
    return Function(name, (head, *(INDENT + line for line in body)), default_name, default)


def _statement(scope: Scope) -> list[str]:
    makers = (
        _arithmetic,
        _arithmetic,
        _call,
        _lookup,
        _loop,
        _branch,
        _branch_else,
        _guard,
        _collect,
        _store,
        _while,
    )
    return scope.rng.choice(makers)(scope)


def _bind(scope: Scope, expression: str) -> list[str]:
    name = scope.new()
    scope.names.append(name)
    return [f"{name} = {expression}"]


def _arithmetic(scope: Scope) -> list[str]:
    right = scope.number() if scope.rng.random() < 0.6 else scope.old()
    return _bind(scope, f"{scope.old()} {scope.rng.choice(OPERATORS)} {right}")


def _call(scope: Scope, helper: str | None = None) -> list[str]:
    return _bind(scope, f"{helper or function_name(scope.rng)}({scope.old()}, {scope.old()})")


def _lookup(scope: Scope) -> list[str]:
    key = scope.rng.choice(KEYS)
    if scope.rng.random() < 0.5:
        return _bind(scope, f'{scope.old()}["{key}"]')
    return _bind(scope, f'{scope.old()}.get("{key}", {scope.number()})')


def _store(scope: Scope) -> list[str]:
    return [f'{scope.old()}["{scope.rng.choice(KEYS)}"] = {scope.old()}']


def _condition(scope: Scope) -> str:
    return f"{scope.old()} {scope.rng.choice(COMPARISONS)} {scope.number()}"


def _loop(scope: Scope) -> list[str]:
    source = scope.old()
    total = _bind(scope, "0")
    item = scope.new()
    name = scope.names[-1]
    return [*total, f"for {item} in {source}:", f"{INDENT}{name} += {item} * {scope.number()}"]


def _branch(scope: Scope) -> list[str]:
    name = scope.old()
    operator = scope.rng.choice(OPERATORS)
    return [f"if {_condition(scope)}:", f"{INDENT}{name} {operator}= {scope.number()}"]


def _branch_else(scope: Scope) -> list[str]:
    condition, left, right = _condition(scope), scope.old(), scope.number()
    bound = _bind(scope, left)[0]
    return [f"if {condition}:", INDENT + bound, "else:", f"{INDENT}return {right}"]


def _guard(scope: Scope) -> list[str]:
    value = scope.rng.choice(("None", "0", "False"))
    return [f"if not {scope.old()}:", f"{INDENT}return {value}"]


def _collect(scope: Scope) -> list[str]:
    source, item = scope.old(), scope.new()
    return _bind(scope, f"[{function_name(scope.rng)}({item}) for {item} in {source}]")


def _while(scope: Scope) -> list[str]:
    name = scope.old()
    return [f"while {name} < {scope.number()}:", f"{INDENT}{name} += {scope.number()}"]


def _return(scope: Scope) -> str:
    if scope.rng.random() < 0.6:
        return f"return {scope.names[-1]}"
    return f"return {scope.names[-1]} {scope.rng.choice(OPERATORS)} {scope.old()}"
