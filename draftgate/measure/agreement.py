"""Do two rounds over the same prompts return the same tokens, and where do they part?"""

from __future__ import annotations

from draftgate.engine.records import Record, RequestRecord, RoundRecord, first_difference


class Difference(Record):
    """The first differing token of a request; a token is None where that output already ended."""

    request: int
    prompt_id: str
    position: int
    token: int | None
    control_token: int | None


class Agreement(Record):
    """``identical`` of ``requests`` have equal output token ids; one difference for each other."""

    equal: bool
    requests: int
    identical: int
    differences: tuple[Difference, ...] = ()


def compare_outputs(record: RoundRecord, control: RoundRecord) -> Agreement:
    """Compare request by request, in prompt order; a missing request makes the rounds unequal."""
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
        differences=differences,
    )


def _first_difference(
    index: int, request: RequestRecord, control: RequestRecord
) -> Difference | None:
    tokens, others = request.output_token_ids, control.output_token_ids
    position = first_difference(tokens, others)
    if position is None:
        return None
    return Difference(
        request=index,
        prompt_id=request.prompt_id,
        position=position,
        token=tokens[position] if position < len(tokens) else None,
        control_token=others[position] if position < len(others) else None,
    )
