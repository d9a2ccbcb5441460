"""Greedy outputs may differ where the target itself hardly prefers one token, and only there."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftgate.engine.scores import ScoredText, TokenScore
from draftgate.lossless.equality import Scorer, Text, compare

TOLERANCE = 0.01
tokens = st.lists(st.integers(0, 5), min_size=1, max_size=12).map(tuple)


def gaps_by_token(gaps: dict[int, float]) -> Scorer:
    """A target for which a token is that far from the likeliest, wherever it stands."""

    def score(texts: Sequence[ScoredText]) -> list[list[TokenScore]]:
        return [
            [
                TokenScore(gap=gaps.get(token, 0.0), mass=0.5, below=0.0, below_id=0.0)
                for token in text.token_ids[text.start :]
            ]
            for text in texts
        ]

    return score


def unasked(texts: Sequence[ScoredText]) -> list[list[TokenScore]]:
    raise AssertionError("equal outputs need no scores")


def text(output: Sequence[int], finish: str = "length") -> Text:
    return Text("r", (9, 9), tuple(output), finish)


@given(st.lists(tokens, min_size=1, max_size=5))
def test_equal_outputs_are_identical(outputs: list[tuple[int, ...]]) -> None:
    texts = [text(output) for output in outputs]
    equality = compare(texts, texts, unasked, tolerance=0.0)
    assert equality.holds
    assert equality.identical == equality.requests == len(outputs)
    assert equality.tokens == sum(map(len, outputs))


@given(tokens, tokens)
def test_other_outputs_hold_only_if_the_target_hardly_minds(
    control: tuple[int, ...], found: tuple[int, ...]
) -> None:
    far = gaps_by_token(dict.fromkeys(range(6), 1.0))
    near = gaps_by_token(dict.fromkeys(range(6), TOLERANCE / 2))
    strict = compare([text(control)], [text(found)], far, tolerance=TOLERANCE)
    assert strict.holds == (control == found)
    lenient = compare([text(control)], [text(found)], near, tolerance=TOLERANCE)
    assert lenient.holds == (len(control) == len(found))


@pytest.mark.parametrize(
    ("length", "finish", "holds"),
    [(6, "length", False), (100, "length", True), (101, "length", False), (6, "stop", True)],
)
def test_behind_a_near_tie_a_text_still_ends_where_it_may(
    length: int, finish: str, holds: bool
) -> None:
    control, found = text([1] * 100), text([*[1] * 5, *[4] * (length - 5)], finish)
    near = gaps_by_token({4: TOLERANCE / 2})
    assert compare([control], [found], near, tolerance=TOLERANCE).holds == holds


def test_a_near_tie_is_counted_with_its_gap_and_what_follows_is_checked() -> None:
    control, found = text([1, 2, 3, 3, 3]), text([1, 4, 3, 5, 3])
    tie = compare([control], [found], gaps_by_token({4: 0.004, 5: 0.0}), tolerance=TOLERANCE)
    assert tie.holds
    (parting,) = tie.near_ties
    assert (parting.position, parting.token, parting.control_token) == (1, 4, 2)
    assert parting.gap == 0.004
    wrong = compare([control], [found], gaps_by_token({4: 0.004, 5: 2.0}), tolerance=TOLERANCE)
    assert [p.position for p in wrong.near_ties] == [1]
    assert [p.position for p in wrong.divergences] == [3]
    assert "r token 3: 5 instead of 3, 2 nats below the likeliest" in str(wrong)


def test_a_control_that_is_wrong_itself_is_no_excuse() -> None:
    """The speculative token is the argmax, standard decoding's is not: something is broken."""
    equality = compare([text([1])], [text([2])], gaps_by_token({1: 3.0}), tolerance=TOLERANCE)
    assert [p.gap for p in equality.divergences] == [3.0]


@pytest.mark.parametrize(("control", "found"), [([1, 2, 3], [1, 2]), ([1, 2], [1, 2, 3])])
def test_an_output_that_ends_elsewhere_is_no_near_tie(control: list[int], found: list[int]) -> None:
    equality = compare([text(control)], [text(found)], unasked, tolerance=TOLERANCE)
    assert [(p.position, p.gap) for p in equality.divergences] == [(2, None)]
    assert "ends elsewhere" in str(equality)


def test_another_reason_to_end_is_a_divergence() -> None:
    equality = compare([text([1], "stop")], [text([1], "length")], unasked, tolerance=TOLERANCE)
    assert not equality.holds


def test_tokens_that_cannot_be_scored_must_be_equal() -> None:
    near = gaps_by_token({})
    control, found = [text([1, 2])], [text([1, 3])]
    assert compare(control, found, near, tolerance=TOLERANCE, longest=4).holds
    assert not compare(control, found, near, tolerance=TOLERANCE, longest=3).holds


def test_other_prompts_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="different prompts"):
        compare([text([1])], [Text("r", (8,), (1,))], unasked, tolerance=TOLERANCE)
