"""Trace files: what is read, and what is refused with file and line."""

from __future__ import annotations

import pytest
from trace_examples import record

from draftgate.analysis.errors import TraceError
from draftgate.analysis.open_trace import open_trace


def test_a_trace_is_read(write_lines) -> None:
    trace = open_trace(write_lines(record(), "", record(id=8), name="gsm8k.jsonl"))
    assert trace.name == "gsm8k"
    assert trace.prompts_known
    assert [r.request_id for r in trace.requests] == ["7", "8"]
    assert trace.requests[0].output_ids.tolist() == [8, 9, 5, 6]
    assert {name: a.tolist() for name, a in trace.requests[0].acceptance.items()} == {
        "ngram": [1, 2, 1, 1],
        "eagle3": [1, 3, 2, 1, 1],  # a head's run has its own length
    }


def test_a_trace_without_acceptance_is_read(write_lines) -> None:
    trace = open_trace(write_lines(record(acc_ngram=None, acc_eagle=None)))
    assert trace.requests[0].acceptance == {}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (record(id=None), "id is missing"),
        (record(prompt_token_ids=None), "prompt_token_ids is missing"),
        (record(generated_token_ids=None), "generated_token_ids is missing"),
        (record(generated_token_ids=[]), "generated_token_ids is empty"),
        (record(prompt_token_ids=[]), "prompt_token_ids is empty"),
        (record(generated_token_ids="8 9"), "generated_token_ids is not a list"),
        (record(prompt_token_ids=[1, 2.5]), r"prompt_token_ids\[1\] is not an integer"),
        (record(prompt_token_ids=[True]), r"prompt_token_ids\[0\] is not an integer"),
        (record(prompt_token_ids=[-1]), r"prompt_token_ids\[0\] is -1"),
        (record(prompt_token_ids=[2**40]), r"prompt_token_ids\[0\] is \d+"),
        (record(prompt_token_ids=[2**80]), "beyond 64 bits"),
        (record(acc_ngram={}), "acc_ngram.acc_len is missing"),
        (record(acc_ngram=[1, 2, 1, 1]), "acc_ngram.acc_len is missing"),
        (record(acc_ngram={"acc_len": [1, 2]}), "2 entries for 4 generated tokens"),
        (record(acc_ngram={"acc_len": [1, 0, 1, 1]}), r"acc_ngram.acc_len\[1\] is 0; .*1 to 21"),
        (record(acc_eagle={"acc_len": [1, 22]}), r"acc_eagle.acc_len\[1\] is 22; .*1 to 21"),
        (record(acc_eagle={"acc_len": []}), "acc_eagle.acc_len is empty"),
        (record(acc_eagle={"acc_len": [1, None]}), r"acc_eagle.acc_len\[1\] is not an integer"),
        ('{"id": 1, "prompt', "not a JSON object"),
        ("[1, 2]", "not a JSON object"),
        ("[" * 100_000, "not a JSON object"),
        (b'{"id": "\xff\xfe"}', "not a JSON object"),
        ('{"id": ' + "9" * 5000 + "}", "not a JSON object"),
        ({}, "id is missing"),
    ],
)
def test_a_bad_line_is_named(write_lines, bad, message) -> None:
    path = write_lines(record(), "", bad, record())
    with pytest.raises(TraceError, match=message) as raised:
        open_trace(path)
    assert str(raised.value).startswith(f"{path}: line 3: ")
    assert len(str(raised.value)) < 400


def test_hostile_text_stays_out_of_messages(write_lines) -> None:
    evil = "\x1b[31m<script>" + "x" * 10_000_000
    good = open_trace(write_lines(record(id=evil)))
    assert good.requests[0].request_id == evil
    with pytest.raises(TraceError) as raised:
        open_trace(write_lines(record(generated_token_ids=[evil])))
    assert "\x1b" not in str(raised.value)
    assert "script" not in str(raised.value)


def test_files_that_cannot_be_traces(tmp_path, write_lines) -> None:
    with pytest.raises(TraceError, match="No such file"):
        open_trace(tmp_path / "none.jsonl")
    with pytest.raises(TraceError, match="is a folder"):
        open_trace(tmp_path)
    with pytest.raises(TraceError, match="is empty"):
        open_trace(write_lines(""))
    with pytest.raises(TraceError, match="line 1: neither a trace nor a chat log"):
        open_trace(write_lines({"text": "hello"}))
