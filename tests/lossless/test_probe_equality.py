"""Any difference between two engines' answers is named; equal answers have none."""

from __future__ import annotations

from typing import Any

import pytest

from draftgate.engine import Completion, ProbeOutput, ProbeResult
from draftgate.engine.probe import TokenLogprob
from draftgate.lossless.probe_equality import differences

POSITIONS = (
    (
        TokenLogprob(token_id=5, logprob=-0.1, rank=1),
        TokenLogprob(token_id=2, logprob=-3.0, rank=2),
    ),
    (
        TokenLogprob(token_id=7, logprob=-0.2, rank=1),
        TokenLogprob(token_id=1, logprob=-2.0, rank=2),
    ),
)
GOOD: dict[str, Any] = {
    "token_ids": (5, 7),
    "text": "ab",
    "finish_reason": "stop",
    "stop_reason": "b",
    "logprobs": POSITIONS,
}


def result(
    aborted: bool = False, copies: int = 1, prompt: Any = None, **changes: Any
) -> ProbeResult:
    completion = Completion(**{**GOOD, **changes})
    output = ProbeOutput(
        request_id="r",
        completions=(completion,) * copies,
        prompt_logprobs=prompt,
        aborted=aborted,
    )
    return ProbeResult(outputs=(output,), steps=1, preemptions=0)


def test_equal_answers_do_not_differ() -> None:
    assert differences(result(), result()) == ()


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"token_ids": (5, 8), "logprobs": None}, "token_ids (5, 8) instead of (5, 7)"),
        ({"text": "abc"}, "text 'abc' instead of 'ab'"),
        ({"finish_reason": "length"}, "finish_reason 'length'"),
        ({"stop_reason": 7}, "stop_reason 7 instead of 'b'"),
        ({"logprobs": None}, "log-probabilities are missing"),
        ({"logprobs": POSITIONS[:1]}, "1 positions with log-probabilities instead of 2"),
        ({"logprobs": POSITIONS[::-1]}, "position 0: token 7 instead of 5"),
        ({"logprobs": (POSITIONS[0], POSITIONS[1][:1])}, "position 1: 1 tokens instead of 2"),
        ({"copies": 2}, "2 outputs instead of 1"),
        ({"prompt": ((), POSITIONS[0])}, "prompt: log-probabilities are there unasked"),
    ],
)
def test_a_difference_is_named(changes: dict[str, Any], line: str) -> None:
    found = "\n".join(differences(result(), result(**changes)))
    assert line in found


def test_a_logprob_may_differ_by_rounding_only() -> None:
    def shifted(by: float) -> ProbeResult:
        (own, other), last = POSITIONS
        moved = own.model_copy(update={"logprob": own.logprob + by})
        return result(logprobs=((moved, other), last))

    assert differences(result(), shifted(1e-4)) == ()
    assert "log-probability -0.0500 instead of -0.1000" in differences(result(), shifted(0.05))[0]


def test_equally_likely_alternatives_may_change_places() -> None:
    tie = (POSITIONS[0][0], TokenLogprob(token_id=9, logprob=-3.0, rank=2))
    assert differences(result(), result(logprobs=(tie, POSITIONS[1]))) == ()


def test_an_aborted_output_must_begin_the_other() -> None:
    short = result(aborted=True, token_ids=(5,), text="a", finish_reason=None, logprobs=None)
    assert differences(result(logprobs=None), short) == ()
    wrong = result(aborted=True, token_ids=(6,), logprobs=None)
    assert differences(result(logprobs=None), wrong) != ()


def ranked(*alternatives: tuple[int, float], rank: int = 1) -> tuple[TokenLogprob, ...]:
    """A token, and the likeliest ones."""
    listed = (
        TokenLogprob(token_id=i, logprob=p, rank=1 + n) for n, (i, p) in enumerate(alternatives)
    )
    return (TokenLogprob(token_id=5, logprob=-0.1, rank=rank), *listed)


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (ranked((5, -0.1), (8, -2.0), (9, -3.0)), "alternative 8 instead of 2"),
        (ranked((5, -0.1), (2, -2.0), (8, -3.0)), None),  # who is last may be a tie
        (ranked((5, -0.1), (2, -2.0), (9, -3.0), rank=9), "rank 9 instead of 1"),
        (ranked((5, -0.1), (2, -2.0), (9, -3.0), rank=2), None),
    ],
)
def test_alternatives_and_ranks_are_part_of_the_answer(found, line) -> None:
    control = result(logprobs=(ranked((5, -0.1), (2, -2.0), (9, -3.0)),))
    lines = differences(control, result(logprobs=(found,)))
    assert [text.rpartition(": ")[2] for text in lines] == ([line] if line else [])


def test_alternatives_that_are_as_likely_may_change_places() -> None:
    tied, other = (
        ((5, -0.1), (2, -2.0), (9, -2.001), (7, -4.0)),
        ((5, -0.1), (9, -2.0), (2, -2.001)),
    )
    control = result(logprobs=(ranked(*tied),))
    assert differences(control, result(logprobs=(ranked(*other, (7, -4.0)),))) == ()
