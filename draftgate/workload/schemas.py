"""The paper's six datasets: where they are on the hub, their columns, and a row as a prompt.

Columns and ids are the hub's; the InstructCoder prompt is the one of `vllm bench serve`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Schema:
    """One dataset.

    ``prompt`` returns None for a row without one. ``rows``: the whole dataset's size, where it is
    smaller than what profiles ask for. ``data_file`` names the file of a dataset that has several.
    """

    dataset: str
    config: str | None
    split: str
    columns: tuple[str, ...]
    prompt: Callable[[Row], str | None]
    data_file: str | None = None
    rows: int | None = None
    gated: bool = False


def schema_of(workload: str) -> Schema:
    """The dataset behind a workload's name. Raises KeyError."""
    return _SCHEMAS[workload]


def _edit(row: Row) -> str | None:
    instruction = _text(row["instruction"])
    if not instruction:
        return None
    code = str(row["input"] or "").strip("\n")  # the first line's indentation is part of the code
    return f"{code}\n\n{instruction} Just output the code, do not include any explanation."


def _summary(row: Row) -> str | None:
    article = _text(row["article"])
    return f"Summarize the following article.\n\n{article}" if article else None


def _first_human_turn(row: Row) -> str | None:
    """The opening of a conversation; None where it opens with the model, as cut ones do."""
    turns = row["conversations"] or []
    if not turns or turns[0].get("from") not in ("human", "user"):
        return None
    return _text(turns[0].get("value")) or None


def _question(row: Row) -> str | None:
    question = _text(row["question"])
    if not question:
        return None
    return f"{question}\n\nThink step by step and end with the final answer after '####'."


def _problem(row: Row) -> str | None:
    problem = _text(row["problem"])
    if not problem:
        return None
    return f"{problem}\n\nReason step by step, and put your final answer within \\boxed{{}}."


def _multiple_choice(row: Row) -> str | None:
    """The four answers in an order that depends on the question alone."""
    question = _text(row["Question"])
    if not question:
        return None
    answers = [_text(row[column]) for column in _GPQA_ANSWERS]
    Random(question).shuffle(answers)
    choices = "\n".join(
        f"({letter}) {answer}" for letter, answer in zip("ABCD", answers, strict=True)
    )
    return (
        f"{question}\n\n{choices}\n\n"
        "Reason step by step, and end with the letter of the right answer."
    )


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


_GPQA_ANSWERS = ("Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")

_SCHEMAS: Mapping[str, Schema] = {
    "instructcoder": Schema(
        "likaixin/InstructCoder", None, "train", ("instruction", "input"), _edit
    ),
    "cnn_dailymail": Schema("abisee/cnn_dailymail", "3.0.0", "test", ("article",), _summary),
    "sharegpt": Schema(
        "anon8231489123/ShareGPT_Vicuna_unfiltered",
        None,
        "train",
        ("conversations",),
        _first_human_turn,
        data_file="ShareGPT_V3_unfiltered_cleaned_split.json",
    ),
    "gsm8k": Schema("openai/gsm8k", "main", "test", ("question",), _question),
    "aime": Schema("AI-MO/aimo-validation-aime", None, "train", ("problem",), _problem, rows=90),
    "gpqa": Schema(
        "Idavidrein/gpqa",
        "gpqa_main",
        "train",
        ("Question", *_GPQA_ANSWERS),
        _multiple_choice,
        rows=448,
        gated=True,
    ),
}
