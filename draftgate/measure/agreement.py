"""Do two rounds over the same prompts return the same tokens, and where do they part?

Two correct engines part where two tokens are equally likely but for rounding, in bfloat16 in many
texts; whether that is so at each difference, the target itself can say (`Agreement.weighed`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from draftgate.engine.records import Record, RequestRecord, RoundRecord, first_difference


class Difference(Record):
    """The first differing token of a request; a token is None where that output already ended.
    Both are where equal tokens end for different reasons.

    ``gap``: by how many nats the target itself prefers another token, at most, from here on; None
    where it was not asked, or where an output ends too early or too late, which no tie explains.
    """

    request: int
    prompt_id: str
    position: int
    token: int | None
    control_token: int | None
    gap: float | None = None


class Agreement(Record):
    """``identical`` of ``requests`` have equal output token ids; one difference for each other.

    ``tolerance``: the largest gap of a near-tie, in nats; None where gaps were not asked for.
    """

    equal: bool
    requests: int
    identical: int
    differences: tuple[Difference, ...] = ()
    tolerance: float | None = None

    @property
    def near_ties(self) -> tuple[Difference, ...]:
        """Differences that rounding explains."""
        return tuple(d for d in self.differences if self._is_near_tie(d))

    @property
    def divergences(self) -> tuple[Difference, ...]:
        """Differences that nothing explains."""
        return tuple(d for d in self.differences if not self._is_near_tie(d))

    @property
    def holds(self) -> bool:
        """Whether the outputs are equal but for near-ties."""
        return self.equal or bool(self.differences and not self.divergences)

    def weighed(self, gaps: Mapping[int, float | None], tolerance: float) -> Self:
        """With the gap of each difference, by its request."""
        weighed = (d.model_copy(update={"gap": gaps[d.request]}) for d in self.differences)
        return self.model_copy(update={"differences": tuple(weighed), "tolerance": tolerance})

    def _is_near_tie(self, difference: Difference) -> bool:
        gap, tolerance = difference.gap, self.tolerance
        return gap is not None and tolerance is not None and gap <= tolerance


def compare_outputs(record: RoundRecord, control: RoundRecord) -> Agreement:
    """Compare request by request, in prompt order; a missing request makes the rounds unequal.

    Outputs of other prompts have no differences to weigh: they are just not equal.
    """
    found = [
        _first_difference(index, request, other)
        for index, (request, other) in enumerate(
            zip(record.requests, control.requests, strict=False)
        )
    ]
    differences = tuple(d for d in found if d is not None)
    same_prompts = [r.prompt_id for r in record.requests] == [r.prompt_id for r in control.requests]
    return Agreement(
        equal=same_prompts and not differences,
        requests=len(record.requests),
        identical=len(found) - len(differences),
        differences=differences if same_prompts else (),
    )


def outputs_agreement(
    rounds: Sequence[RoundRecord], control_rounds: Sequence[RoundRecord]
) -> Agreement | None:
    """Of the first rounds; None without a control."""
    return compare_outputs(rounds[0], control_rounds[0]) if control_rounds else None


def distinct_pairs(
    rounds: Sequence[RoundRecord], control_rounds: Sequence[RoundRecord]
) -> tuple[tuple[RoundRecord, RoundRecord], ...]:
    """Each round with the control's of the same index, or its last; repeated texts once."""
    last = len(control_rounds) - 1
    beside = [(record, control_rounds[min(i, last)]) for i, record in enumerate(rounds)]
    return tuple({(_texts(a), _texts(b)): (a, b) for a, b in beside}.values())


def worst_of(found: Iterable[Agreement]) -> Agreement:
    """The agreement that says most against equality."""
    return max(found, key=lambda a: (not a.holds, len(a.divergences), len(a.differences)))


def _texts(record: RoundRecord) -> tuple[tuple[tuple[int, ...], str | None], ...]:
    return tuple((r.output_token_ids, r.finish_reason) for r in record.requests)


def _first_difference(
    index: int, request: RequestRecord, control: RequestRecord
) -> Difference | None:
    tokens, others = request.output_token_ids, control.output_token_ids
    position = first_difference(tokens, others)
    if position is None:
        if request.finish_reason == control.finish_reason:
            return None
        position = len(tokens)
    return Difference(
        request=index,
        prompt_id=request.prompt_id,
        position=position,
        token=tokens[position] if position < len(tokens) else None,
        control_token=others[position] if position < len(others) else None,
    )
