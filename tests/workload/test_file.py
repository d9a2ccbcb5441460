"""Local files in the hub's own schema: the prompts they give, and what is said of bad ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from draftgate.profile import WorkloadSpec
from draftgate.workload import FrozenWorkload, WorkloadError, load_workload

Write = Callable[[list[dict[str, Any]], str], Path]
RowMaker = Callable[[str, int], list[dict[str, Any]]]

# The prompt of row 2, whole.
EXPECTED = {
    "instructcoder": "    x = 2\n\nRename x to y2. "
    "Just output the code, do not include any explanation.",
    "cnn_dailymail": "Summarize the following article.\n\nNews number 2.",
    "sharegpt": "Tell me 2",
    "gsm8k": "What is 2 + 1?\n\nThink step by step and end with the final answer after '####'.",
    "aime": "Find $n_2$.\n\nReason step by step, and put your final answer within \\boxed{}.",
}


def load(name: str, path: Path, prompts: int, seed: int = 42) -> FrozenWorkload:
    spec = {"name": name, "source": "file", "prompts": prompts, "max_tokens": 8, "seed": seed}
    return load_workload(WorkloadSpec.model_validate({**spec, "path": str(path)}))


def texts(frozen: FrozenWorkload) -> dict[str, str]:
    return {prompt.prompt_id: prompt.text for prompt in frozen.prompts}


@pytest.mark.parametrize("name", EXPECTED)
def test_prompts(name: str, rows_of: RowMaker, write: Write) -> None:
    frozen = load(name, write(rows_of(name, 3), "jsonl"), 3)
    assert texts(frozen)[f"{name}-0002"] == EXPECTED[name]
    assert sorted(texts(frozen)) == [f"{name}-000{i}" for i in range(3)]
    assert (frozen.name, frozen.source, frozen.revision) == (name, "file", None)


def test_gpqa_shows_all_answers_in_an_order_of_the_question_alone(
    rows_of: RowMaker, write: Write
) -> None:
    rows = rows_of("gpqa", 20)
    path = write(rows, "jsonl")
    first, other = texts(load("gpqa", path, 20)), texts(load("gpqa", path, 20, seed=7))
    assert first == other
    letters = set()
    for i, row in enumerate(rows):
        lines = first[f"gpqa-{i:04d}"].splitlines()
        assert lines[0] == row["Question"]
        choices = {line[4:]: line[1] for line in lines if line.startswith("(")}
        assert set(choices) == {row[c] for c in row if "Answer" in c}
        letters.add(choices[row["Correct Answer"]])
    assert letters == set("ABCD"), "the right answer would stand in a fixed place"


@pytest.mark.parametrize("kind", ["json", "jsonl", "csv", "parquet"])
def test_file_types_give_the_same_prompts(kind: str, rows_of: RowMaker, write: Write) -> None:
    rows = rows_of("gsm8k", 5)
    assert load("gsm8k", write(rows, kind), 5) == load("gsm8k", write(rows, "jsonl"), 5)


@pytest.mark.parametrize("kind", ["json", "parquet"])
def test_conversations_are_nested(kind: str, rows_of: RowMaker, write: Write) -> None:
    frozen = load("sharegpt", write(rows_of("sharegpt", 3), kind), 3)
    assert texts(frozen)["sharegpt-0002"] == "Tell me 2"


def test_conversations_that_open_with_the_model_are_passed_over(
    rows_of: RowMaker, write: Write
) -> None:
    rows = rows_of("sharegpt", 4)
    rows[1]["conversations"] = rows[1]["conversations"][1:]
    rows[2]["conversations"] = []
    path = write(rows, "jsonl")
    assert set(texts(load("sharegpt", path, 2))) == {"sharegpt-0000", "sharegpt-0003"}
    with pytest.raises(WorkloadError, match="2 usable of 4 rows, 3 are asked for"):
        load("sharegpt", path, 3)


def test_path_with_glob_characters_is_taken_literally(
    tmp_path: Path, rows_of: RowMaker, write: Write
) -> None:
    odd = tmp_path / "a[1]*.jsonl"
    write(rows_of("gsm8k", 2), "jsonl").rename(odd)
    assert len(load("gsm8k", odd, 2).prompts) == 2


def test_changed_file_is_read_anew(rows_of: RowMaker, write: Write) -> None:
    before = load("gsm8k", write(rows_of("gsm8k", 3), "jsonl"), 2)
    after = load("gsm8k", write(rows_of("gsm8k", 9)[6:], "jsonl"), 2)
    assert before.workload_hash != after.workload_hash


def test_missing_column(write: Write) -> None:
    path = write([{"query": "q", "answer": "a"}], "jsonl")
    with pytest.raises(WorkloadError, match="has no column 'question'") as caught:
        load("gsm8k", path, 1)
    message = str(caught.value)
    assert str(path) in message
    assert "found:   'query', 'answer'" in message
    assert "openai/gsm8k" in message


@pytest.mark.parametrize("name", ["gsm8k", "aime", "gpqa"])
def test_too_few_rows(name: str, rows_of: RowMaker, write: Write) -> None:
    path = write(rows_of(name, 3), "jsonl")
    with pytest.raises(WorkloadError, match="too few prompts") as caught:
        load(name, path, 4)
    assert "lower the profile's prompts to 3" in str(caught.value)


@pytest.mark.parametrize(("name", "whole"), [("aime", 90), ("gpqa", 448)])
def test_datasets_smaller_by_nature_give_all_they_have(
    name: str, whole: int, rows_of: RowMaker, write: Write
) -> None:
    path = write(rows_of(name, whole), "jsonl")
    assert len(load(name, path, 500).prompts) == whole


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("rows.txt", "x", ["unknown file type", ".jsonl"]),
        ("rows", "x", ["unknown file type", "no suffix"]),
        ("gone.json", None, ["is no file", "nothing there"]),
        ("bad.jsonl", '{"question": \n{', ["cannot be read as json"]),
        ("bad.parquet", "not parquet", ["cannot be read as parquet"]),
        ("empty.jsonl", "", ["gsm8k"]),
    ],
)
def test_bad_file(tmp_path: Path, file: str, content: str | None, words: list[str]) -> None:
    path = tmp_path / file
    if content is not None:
        path.write_text(content)
    with pytest.raises(WorkloadError, match="remedy:") as caught:
        load("gsm8k", path, 1)
    assert str(path) in str(caught.value)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_file_without_a_path() -> None:
    spec = WorkloadSpec(name="gsm8k", source="file", prompts=1, max_tokens=1)
    with pytest.raises(WorkloadError, match="without a path"):
        load_workload(spec)
