"""The corpus is deterministic, split by prompt, and its answers are right."""

import ast
import re
from itertools import islice
from random import Random

import pytest

from draftgate.testbed.corpus import (
    WORKLOADS,
    Example,
    copy_drill,
    evaluation,
    is_held_out,
    sample,
    stream,
)

TRAIN = list(islice(stream(7), 3000))
MAX_CHARS = 1700
EQUATION = re.compile(r"(?<![\d^] )(?<!\S)((?:\d+ [-+*/] )+\d+) = (\d+)\b")
DIVISION = re.compile(r"\b(\d+) = (\d+ \* \d+(?: \+ \d+)?)")


def _of(workload: str) -> list[Example]:
    return [e for e in TRAIN if e.workload == workload]


def test_a_seed_fixes_the_stream() -> None:
    assert list(islice(stream(3), 200)) == list(islice(stream(3), 200))
    assert list(islice(stream(3), 20)) != list(islice(stream(4), 20))


@pytest.mark.parametrize("workload", WORKLOADS)
def test_evaluation_is_fixed_distinct_and_disjoint(workload: str) -> None:
    held_out = evaluation(workload, 24)
    assert held_out[:5] == evaluation(workload, 5)
    assert len({e.prompt for e in held_out}) == 24
    assert all(is_held_out(e.prompt) for e in held_out)
    assert not {e.prompt for e in held_out} & {e.prompt for e in TRAIN}


def test_training_never_yields_a_held_out_prompt() -> None:
    rng = Random(0)
    drawn = [sample(w, rng) for w in WORKLOADS for _ in range(100)]
    assert not any(is_held_out(e.prompt) for e in [*TRAIN, *drawn])


def test_text_is_clean_and_bounded() -> None:
    for example in TRAIN:
        for text in (example.prompt, example.answer):
            assert text.isascii()
            assert text == text.strip()
            assert text
            assert not any(line != line.rstrip() for line in text.split("\n"))
            assert "{" not in text.replace("\\boxed{", "")
        assert len(example.prompt) + len(example.answer) < MAX_CHARS


def test_mixture_holds_every_workload() -> None:
    assert all(len(_of(w)) > 200 for w in WORKLOADS)


def test_code_parses_and_is_mostly_copied() -> None:
    for example in _of("instructcoder"):
        _, code = example.prompt.split("\n\n", 1)
        ast.parse(code)
        ast.parse(example.answer)
        before, after = code.split("\n"), example.answer.split("\n")
        assert code != example.answer
        assert sum(line in before for line in after) >= len(after) - 4


def test_highlights_are_the_first_sentences() -> None:
    for example in _of("cnn_dailymail"):
        _, *paragraphs = example.prompt.split("\n\n")
        lines = example.answer.split("\n")
        assert len(lines) == len(paragraphs)
        for line, paragraph in zip(lines, paragraphs, strict=True):
            core = line.removeprefix("- ").removesuffix(".")
            first = paragraph.split(". ")[0].removesuffix(".")
            assert first == core or first.rsplit(", ", 1) == [core, first.rsplit(", ", 1)[-1]]
            assert not re.search(r", [a-z ]+ (said|reported|found)$", core)


@pytest.mark.parametrize("workload", ["gsm8k", "aime"])
def test_arithmetic_is_right(workload: str) -> None:
    checked = 0
    for example in _of(workload):
        for left, right in EQUATION.findall(example.answer):
            assert eval(left) == int(right), example.answer
            checked += 1
        for left, right in DIVISION.findall(example.answer):
            assert eval(right) == int(left), example.answer
    assert checked > 500


def test_maths_ends_with_the_last_result_and_shares_no_wording() -> None:
    for example in _of("gsm8k"):
        steps, result = example.answer.split("\n#### ")
        assert re.findall(r"= (\d+)", steps)[-1] == result
        words = re.findall(r"[A-Za-z]+", example.answer)
        spans = [" ".join(words[i : i + 4]) for i in range(len(words) - 3)]
        assert len(set(spans)) == len(spans)
        told = " ".join(re.findall(r"[A-Za-z]+", example.prompt))
        assert not any(span in told for span in spans)


def test_science_names_the_option_that_fits() -> None:
    for example in _of("gpqa"):
        question, *options = example.prompt.split("\n")
        letter = example.answer.split("Answer: ")[1]
        assert len(options) == 4
        claim = next(line for line in example.answer.split("\n") if line.startswith(letter))
        value = claim.rsplit(",", 1)[0]
        assert value.endswith(question.rstrip("?").rsplit(" ", 1)[1])


def test_reasoning_frame() -> None:
    for example in _of("aime"):
        assert example.answer.startswith("Let me think step by step.\n")
        assert re.search(r"The answer is \\boxed\{\d+\}\.$", example.answer)


@pytest.mark.parametrize("length", [1, 4, 20, 60])
def test_copy_drill_answers_lie_in_the_prompt(length: int) -> None:
    rng = Random(length)
    for _ in range(200):
        drill = copy_drill(rng, length)
        assert drill.answer
        assert drill.answer in drill.prompt
