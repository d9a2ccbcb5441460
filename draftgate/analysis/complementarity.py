"""Where one variant's drafts are accepted and another's are not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from draftgate.analysis.steps import Steps, measured_steps
from draftgate.analysis.traces import BoolArray, FloatArray
from draftgate.analysis.within_request import heat_map
from draftgate.engine.records import RoundRecord


@dataclass(frozen=True, eq=False)
class Difference:
    """``gain`` (R, bins): tokens per step of the first variant minus the second's, by request and
    relative position; NaN where one of them has no step.
    """

    request_ids: tuple[str, ...]
    gain: FloatArray


@dataclass(frozen=True)
class Shared:
    """Output tokens that came from drafts of both variants, of one alone, or of neither.

    ``requests``: with the same output in both; others cannot be compared token by token.
    """

    first: str
    second: str
    requests: int
    both: int
    first_only: int
    second_only: int
    neither: int

    @property
    def overlap(self) -> float | None:
        """Tokens drafted by both / by either, in [0, 1]; None where neither drafted any."""
        either = self.both + self.first_only + self.second_only
        return self.both / either if either else None


def difference(first: Sequence[Steps], second: Sequence[Steps], bins: int = 20) -> Difference:
    """The requests that both variants served, in the first's order."""
    other = {steps.request_id: steps for steps in second}
    pairs = [(steps, other[steps.request_id]) for steps in first if steps.request_id in other]
    if not pairs:
        return Difference((), np.empty((0, bins)))
    sides = [heat_map(side, bins) for side in zip(*pairs, strict=True)]
    return Difference(tuple(steps.request_id for steps, _ in pairs), sides[0] - sides[1])


def from_drafts(steps: Steps) -> BoolArray:
    """Whether each output token was an accepted draft, (``output_tokens``).

    A step's last token is the target's own, unless the output's end cut it off.
    """
    flags = np.zeros(steps.output_tokens, dtype=bool)
    for start, emitted in zip(steps.position.tolist(), steps.emitted.tolist(), strict=True):
        flags[start : start + emitted - 1] = True
    return flags


def shared(variants: Mapping[str, RoundRecord]) -> tuple[Shared, ...]:
    """Every pair of ``variants``, each once, in their order: rounds over the same prompts."""
    names = list(variants)
    return tuple(
        _shared(first, variants[first], second, variants[second])
        for i, first in enumerate(names)
        for second in names[i + 1 :]
    )


def _shared(first: str, first_round: RoundRecord, second: str, second_round: RoundRecord) -> Shared:
    other = {steps.request_id: steps for steps in measured_steps(second_round)}
    ours, theirs = (
        {request.prompt_id: request.output_token_ids for request in reversed(side.requests)}
        for side in (first_round, second_round)
    )
    pairs = [
        (from_drafts(steps), from_drafts(other[steps.request_id]))
        for steps in measured_steps(first_round)
        if ours[steps.request_id] == theirs.get(steps.request_id)
    ]
    a, b = (np.concatenate([np.zeros(0, bool), *(pair[side] for pair in pairs)]) for side in (0, 1))
    return Shared(
        first,
        second,
        len(pairs),
        both=int((a & b).sum()),
        first_only=int((a & ~b).sum()),
        second_only=int((~a & b).sum()),
        neither=int((~a & ~b).sum()),
    )
