"""The law of verification: exact output distributions, by enumeration.

A *model* maps a prefix (the tokens since the step began) to the distribution of the next token.
A *window* is what was drafted. A *verifier* maps a window to the law of the tokens that the step
emits: the accepted drafts and one more token. Verification is lossless if the step's law, averaged
over the windows that the proposer draws and continued by the target where a step is short, is the
target's own joint law: `completed(output_law(...)) == target_law(...)`.

Arithmetic is that of the probabilities given: `Fraction` in, `Fraction` out, and equality is
equality; `float` in, `float` out.

Sources: standard verification, Leviathan et al., arXiv 2211.17192 and Chen et al., arXiv
2302.01318; block verification, Sun et al., arXiv 2403.10444, algorithm 2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Literal, TypeAlias

Number: TypeAlias = Fraction | float
Tokens: TypeAlias = tuple[int, ...]
Law: TypeAlias = dict[Tokens, Number]
Distribution: TypeAlias = Sequence[Number]
Model: TypeAlias = Callable[[Tokens], Distribution]
Verifier: TypeAlias = Callable[[Tokens], Mapping[Tokens, Number]]
Verification: TypeAlias = Literal["standard", "block"]

# A slot of the window that holds no draft. Nothing at or after it can be accepted.
PLACEHOLDER = -1


def drafted(window: Tokens) -> Tokens:
    """The drafts of ``window``: those before the first placeholder.

    A placeholder ends a window, which makes padded and ragged windows one case: where the drafts
    end, the step's last token is the target's. That holds for slots that are empty whatever was
    drafted. A slot blanked because of its draft (a grammar forbids it) is another case: that draft
    was drawn from q and has p = 0, and only (p - q)+ replaces it without bias.
    """
    return window[: window.index(PLACEHOLDER)] if PLACEHOLDER in window else window


def target_law(target: Model, length: int) -> Law:
    """Joint law of the next ``length`` tokens of standard decoding."""
    return completed({(): 1}, target, length)


def window_law(proposer: Callable[[Tokens], Distribution | None], k: int) -> Law:
    """Law of the windows of at most ``k`` drafts.

    ``proposer`` returns None where it stops early: the windows are then ragged.
    """
    law: Law = {}
    pending: list[tuple[Tokens, Number]] = [((), 1)]
    while pending:
        window, mass = pending.pop()
        row = proposer(window) if len(window) < k else None
        if row is None:
            law[window] = mass
        else:
            pending += [((*window, x), mass * q) for x, q in enumerate(row) if q > 0]
    return law


def standard(window: Tokens, target: Model, proposer: Model | None = None) -> Law:
    """Law of what standard rejection sampling emits for ``window``.

    Draft x is accepted with probability min(1, p(x) / q(x)); a rejected one is replaced by a token
    of the law (p - q)+, normalised. Without ``proposer`` a draft counts as certain (q one-hot),
    however it was drawn.
    """
    law: defaultdict[Tokens, Number] = defaultdict(int)
    reach: Number = 1
    drafts = drafted(window)
    for i, draft in enumerate(drafts):
        prefix = drafts[:i]
        p = target(prefix)
        q = proposer(prefix) if proposer else _one_hot(draft, len(p))
        accept = min(1, p[draft] / q[draft]) if q[draft] > 0 else 0
        _emit(law, prefix, residual(p, q), reach * (1 - accept))
        reach *= accept
    _emit(law, drafts, target(drafts), reach)
    return dict(law)


def block(window: Tokens, target: Model, proposer: Model | None = None) -> Law:
    """Law of what block verification emits for ``window``.

    The longest prefix wins whose own test passes; prefix i is tested with the joint ratio
    r_i = min(1, r_{i-1} p(x_i) / q(x_i)) and passes with probability s / (s + 1 - r_i), s being the
    mass of (r_i p - q)+ at the next position. The whole window passes with probability r_k.
    """
    drafts = drafted(window)
    ratios, tails = _block_ratios(drafts, target, proposer)
    law: defaultdict[Tokens, Number] = defaultdict(int)
    unclaimed: Number = 1  # mass of the draws in which no longer prefix passed
    for i in range(len(drafts), -1, -1):
        passes = _passes(ratios[i], tails[i], whole=i == len(drafts), empty=i == 0)
        _emit(law, drafts[:i], tails[i], unclaimed * passes)
        unclaimed *= 1 - passes
    return dict(law)


def greedy(window: Tokens, target: Model) -> Law:
    """What greedy verification emits: the drafts that are the target's argmax, and one more.

    Ties go to the lowest id.
    """
    emitted: Tokens = ()
    drafts = drafted(window)
    for draft in drafts:
        emitted += (argmax(target(emitted)),)
        if emitted[-1] != draft:
            return {emitted: 1}
    return {(*drafts, argmax(target(drafts))): 1}


def output_law(windows: Mapping[Tokens, Number], verify: Verifier) -> Law:
    """Law of a step's output: ``verify`` averaged over the law of the windows."""
    law: defaultdict[Tokens, Number] = defaultdict(int)
    for window, mass in windows.items():
        for output, share in verify(window).items():
            law[output] += mass * share
    return dict(law)


def completed(law: Mapping[Tokens, Number], target: Model, length: int) -> Law:
    """``law`` with each output continued by ``target`` to ``length`` tokens; longer ones are cut.

    A step emits one to k + 1 tokens and later steps go on from there, so two laws of outputs are
    comparable only at a common length.
    """
    result: defaultdict[Tokens, Number] = defaultdict(int)
    pending = list(law.items())
    while pending:
        output, mass = pending.pop()
        if len(output) >= length:
            result[output[:length]] += mass
        else:
            pending += [((*output, x), mass * p) for x, p in enumerate(target(output)) if p > 0]
    return dict(result)


def mean_length(law: Mapping[Tokens, Number]) -> Number:
    """Mean number of emitted tokens: the acceptance length of this law."""
    return sum((len(output) * mass for output, mass in law.items()), start=Fraction(0))


def residual(p: Distribution, q: Distribution) -> Distribution:
    """Unnormalised (p - q)+."""
    return [max(a - b, 0) for a, b in zip(p, q, strict=True)]


def argmax(row: Distribution) -> int:
    """Token of the largest probability; the lowest id among equals."""
    return max(range(len(row)), key=lambda x: row[x])


def _one_hot(token: int, vocab: int) -> Distribution:
    return [int(x == token) for x in range(vocab)]


def _emit(
    law: defaultdict[Tokens, Number], prefix: Tokens, weights: Distribution, mass: Number
) -> None:
    """Add ``mass`` to the outputs that follow ``prefix`` with one token drawn by ``weights``."""
    total = sum(weights, start=Fraction(0))
    if not mass or not total:
        return
    for token, weight in enumerate(weights):
        if weight > 0:
            law[(*prefix, token)] += mass * (weight / total)


def _block_ratios(
    drafts: Tokens, target: Model, proposer: Model | None
) -> tuple[list[Number], list[Distribution]]:
    """For each prefix: its joint ratio, and the weights of the token after it."""
    ratios: list[Number] = [1]
    tails: list[Distribution] = []
    for i, draft in enumerate(drafts):
        p = target(drafts[:i])
        q = proposer(drafts[:i]) if proposer else _one_hot(draft, len(p))
        tails.append(residual([ratios[i] * x for x in p], q))
        ratio = ratios[i] * p[draft] / q[draft] if q[draft] > 0 else 0
        ratios.append(min(1, ratio))
    return ratios, [*tails, target(drafts)]


def _passes(ratio: Number, tail: Distribution, *, whole: bool, empty: bool) -> Number:
    if empty:
        return 1
    if whole:
        return ratio
    mass = sum(tail, start=Fraction(0))
    return mass / (mass + 1 - ratio) if mass else 0
