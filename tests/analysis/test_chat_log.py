"""Chat logs become requests: every answer, with all text before it as its prompt."""

from __future__ import annotations

import pytest

from draftgate.analysis.errors import TraceError
from draftgate.analysis.open_trace import open_trace

tokenizers = pytest.importorskip("tokenizers")

WORDS = ["hello", "you", "there", "again"]


@pytest.fixture
def tokenizer(tmp_path) -> str:
    model = tokenizers.models.WordLevel({word: i for i, word in enumerate(WORDS)}, "hello")
    made = tokenizers.Tokenizer(model)
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.save(str(tmp_path / "tokenizer.json"))
    return str(tmp_path)


def turns(role, text, *said) -> list[dict[str, str]]:
    return [{role: speaker, text: words} for speaker, words in said]


CHAT = (("user", "hello you"), ("assistant", "you"), ("user", "again"), ("assistant", "there you"))
EXPECTED = [([0, 1], [1]), ([0, 1, 1, 3], [2, 1])]


def read(path, tokenizer) -> list[tuple[list[int], list[int]]]:
    requests = open_trace(path, tokenizer).requests
    return [(r.prompt_ids.tolist(), r.output_ids.tolist()) for r in requests]


def test_messages_and_sharegpt_conversations(write_lines, tokenizer) -> None:
    messages = {"messages": turns("role", "content", *CHAT)}
    gpt = [("gpt" if speaker == "assistant" else "human", said) for speaker, said in CHAT]
    conversations = {"conversations": turns("from", "value", *gpt)}
    assert read(write_lines(messages), tokenizer) == EXPECTED
    assert read(write_lines(conversations), tokenizer) == EXPECTED


def test_prompt_and_response(write_lines, tokenizer) -> None:
    path = write_lines({"prompt": "hello you", "response": "there"})
    assert read(path, tokenizer) == [([0, 1], [2])]


def test_an_answer_before_any_question_is_context(write_lines, tokenizer) -> None:
    said = (("assistant", "hello"), ("user", "you"), ("assistant", "there"))
    path = write_lines({"messages": turns("role", "content", *said)})
    assert read(path, tokenizer) == [([0, 1], [2])]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"messages": "hello"}, "messages is not a list of objects"),
        ({"messages": [{"role": "user"}]}, r"messages\[0\].content is missing"),
        ({"messages": [{"role": "user", "content": ["x"]}]}, r"messages\[0\].content is missing"),
        ({"prompt": "hello", "response": None}, "response is missing"),
        ({"prompt": "hello", "response": ""}, "turn 2: the answer is empty"),
    ],
)
def test_a_bad_line_is_named(write_lines, tokenizer, bad, message) -> None:
    good = {"prompt": "hello", "response": "you"}
    with pytest.raises(TraceError, match=f"line 2: {message}"):
        open_trace(write_lines(good, bad), tokenizer)


def test_a_tokenizer_is_asked_for_and_checked(write_lines, tmp_path) -> None:
    path = write_lines({"prompt": "hello", "response": "you"})
    with pytest.raises(TraceError, match="give its tokenizer with --tokenizer"):
        open_trace(path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(TraceError, match="give a tokenizer"):
        open_trace(path, str(tmp_path))


def test_a_log_without_answers(write_lines, tokenizer) -> None:
    path = write_lines({"messages": turns("role", "content", ("user", "hello"))})
    with pytest.raises(TraceError, match="no conversation has an answer"):
        open_trace(path, tokenizer)
