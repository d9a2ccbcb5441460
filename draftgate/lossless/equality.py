"""Greedy output against standard decoding, token by token, with a rule for near-ties.

Two correct engines may part where two tokens are equally likely but for rounding. Which token an
engine may take is decided by the target itself: at the first difference both tokens, and then every
further token of the speculative output, must be the likeliest at its own prefix to within a
tolerance, in nats. So nothing after a near-tie goes unchecked, and every one is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from draftgate.engine.records import first_difference
from draftgate.engine.scores import ScoredText, TokenScore

Scorer = Callable[[Sequence[ScoredText]], Sequence[Sequence[TokenScore]]]

# Nats below the likeliest token. Float32 logits of one prefix differ by about 1e-5 between prefill
# and decoding; logits near 20 are multiples of 1/8 in bfloat16 and of 1/64 in float16.
TOLERANCE = {"float32": 1e-3, "float16": 0.05, "bfloat16": 0.3}


@dataclass(frozen=True)
class Text:
    """A request's prompt and output as token ids; ``shown``: the output in words."""

    name: str
    prompt: tuple[int, ...]
    output: tuple[int, ...]
    finish_reason: str | None = None
    shown: str = ""


@dataclass(frozen=True)
class Parting:
    """A token that standard decoding did not emit; ``gap``: nats below the likeliest token.

    ``position``: in the output; a token is None where that output had ended. ``gap`` None: an
    output that ended too early or too late, which no tie explains.
    """

    name: str
    position: int
    token: int | None
    control_token: int | None
    gap: float | None


@dataclass(frozen=True)
class Equality:
    """Of ``requests``, ``identical`` are equal token by token, and end for the same reason."""

    requests: int
    tokens: int
    identical: int
    tolerance: float
    near_ties: tuple[Parting, ...] = ()
    divergences: tuple[Parting, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every difference is a near-tie."""
        return not self.divergences

    def __str__(self) -> str:
        line = (
            f"{self.identical} of {self.requests} requests identical ({self.tokens} tokens), "
            f"{len(self.near_ties)} near-ties, {len(self.divergences)} divergences"
        )
        return "; ".join([line, *(_describe(parting) for parting in self.divergences[:3])])


def compare(
    control: Sequence[Text],
    found: Sequence[Text],
    score: Scorer,
    *,
    tolerance: float,
    longest: int | None = None,
) -> Equality:
    """Compare outputs of the same prompts, in the same order.

    ``score``: scores under the target, asked only where outputs differ. ``longest``: tokens of the
    longest text that can be scored (`max_model_len` - 1); later tokens must be equal.

    Raises:
        ValueError: other prompts.
    """
    if [t.prompt for t in control] != [t.prompt for t in found]:
        raise ValueError("the outputs to compare belong to different prompts")
    pairs = list(zip(control, found, strict=True))
    different = [
        (c, f) for c, f in pairs if (c.output, c.finish_reason) != (f.output, f.finish_reason)
    ]
    partings = [p for c, f in different for p in _partings(c, f, score, tolerance, longest)]
    return Equality(
        requests=len(pairs),
        tokens=sum(len(f.output) for _, f in pairs),
        identical=len(pairs) - len(different),
        tolerance=tolerance,
        near_ties=tuple(p for p in partings if p.gap is not None and p.gap <= tolerance),
        divergences=tuple(p for p in partings if p.gap is None or p.gap > tolerance),
    )


def _partings(
    control: Text, found: Text, score: Scorer, tolerance: float, longest: int | None
) -> list[Parting]:
    """Where ``found`` is not the target's own choice, up to its first divergence."""
    position = first_difference(found.output, control.output)
    ends = (len(found.output), len(control.output))
    if position is None or position in ends:
        return [_parting(control, found, min(ends) if position is None else position, None)]
    begin = len(found.prompt) + position
    theirs = (*control.prompt, *control.output[: position + 1])
    ours = (*found.prompt, *found.output)[:longest]
    if begin >= len(ours):
        return [_parting(control, found, position, None)]
    of_control, of_found = score(
        [ScoredText(token_ids=theirs, start=begin), ScoredText(token_ids=ours, start=begin)]
    )
    gaps = [max(of_found[0].gap, of_control[0].gap), *(s.gap for s in of_found[1:])]
    partings = []
    for offset, gap in enumerate(gaps):
        if offset == 0 or gap > 0:
            partings.append(_parting(control, found, position + offset, gap))
        if gap > tolerance:
            return partings
    if _ends_elsewhere(control, found):
        partings.append(_parting(control, found, len(found.output), None))
    return partings


def _ends_elsewhere(control: Text, found: Text) -> bool:
    """Whether texts that went apart end where no text may; their last tokens are judged as such."""
    limit = len(control.output) if control.finish_reason == "length" else None
    if limit is not None and len(found.output) > limit:
        return True
    return found.finish_reason == "length" and len(found.output) < (limit or len(control.output))


def _parting(control: Text, found: Text, position: int, gap: float | None) -> Parting:
    def at(output: tuple[int, ...]) -> int | None:
        return output[position] if position < len(output) else None

    return Parting(found.name, position, at(found.output), at(control.output), gap)


def _describe(parting: Parting) -> str:
    why = "ends elsewhere" if parting.gap is None else f"{parting.gap:.3g} nats below the likeliest"
    return (
        f"{parting.name} token {parting.position}: {parting.token} instead of "
        f"{parting.control_token}, {why}"
    )
