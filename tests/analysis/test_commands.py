"""`draftgate simulate` and `draftgate replay` as a shell sees them."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import pytest
from trace_examples import record

from draftgate.cli.main import run

Captured = pytest.CaptureFixture[str]
SIMULATED = ["trace", "proposer", "policy", "accounting", "batch_size", "speedup"]
REPLAYED = [
    "trace", "method", "prompt_lookup_min", "prompt_lookup_max", "cap", "positions",
    "acceptance_length", "agreement",
]  # fmt: skip


def test_simulate_prints_flat_records_alone(write_lines, capsys: Captured) -> None:
    path = str(write_lines(record(), name="gsm8k.jsonl"))
    assert run(["simulate", path, "--batch-sizes", "1,8", "--format", "json"]) == 0
    captured = capsys.readouterr()
    records = json.loads(captured.out)
    assert captured.err == ""
    assert all(list(r) == SIMULATED for r in records)
    assert [(r["proposer"], r["policy"], r["batch_size"]) for r in records] == [
        (proposer, policy, size)
        for proposer in ("ngram", "eagle3")
        for policy in ("fixed:1", "fixed:3", "fixed:5", "oracle")
        for size in (1, 8)
    ]
    assert run(["simulate", path, "--batch-sizes", "1,8", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert rows == [{key: str(value) for key, value in r.items()} for r in records]


def test_simulate_takes_every_option(write_lines, capsys: Captured) -> None:
    path = str(write_lines(record(), record(), name="other.jsonl"))
    options = "--proposer combine --policy adaptive,dynamic:4=2,threshold:0.5 --accounting winner"
    more = "--batches ragged --batch-sizes 2 --switch-cost 0.001 --requests 1 --seed 7"
    assert run(["simulate", path, *options.split(), *more.split(), "--format", "json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert [r["policy"] for r in records] == ["adaptive", "dynamic:4=2", "threshold:0.5:5"]
    assert {r["accounting"] for r in records} == {"winner"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--policy", "magic"], "unknown policy 'magic'; write fixed:K"),
        (["--policy", "fixed:99"], "whole number from 1 to 20"),
        (["--proposer", "mtp"], "no draft cost for 'mtp'"),
        (["--batch-sizes", "1,0"], "'0' is not a whole number"),
        (["--batch-sizes", ""], "an item is empty"),
        (["--cost-model", "b200"], "no cost model 'b200'"),
        (["--switch-cost", "inf"], "give a finite duration"),
        (["--accounting", "magic"], "published"),
        (["--requests", "0"], "--requests"),
    ],
)
def test_a_wrong_option_is_one_message(write_lines, capsys: Captured, options, message) -> None:
    assert run(["simulate", str(write_lines(record())), *options]) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_a_broken_trace_is_one_message(write_lines, capsys: Captured) -> None:
    for command in ("simulate", "replay"):
        assert run([command, str(write_lines(record(), "{"))]) == 1
        assert ": line 2: not a JSON object" in capsys.readouterr().err


def test_replay_prints_records_and_names_the_best(write_lines, capsys: Captured) -> None:
    pytest.importorskip("vllm")
    path = str(write_lines(record(prompt_token_ids=[8, 9, 5, 6, 8, 9, 5]), name="mine.jsonl"))
    options = ["--cap", "1,3", "--prompt-lookup-min", "2", "--prompt-lookup-max", "3"]
    assert run(["replay", path, *options, "--format", "json"]) == 0
    captured = capsys.readouterr()
    records = json.loads(captured.out)
    assert all(list(r) == REPLAYED for r in records)
    assert [r["cap"] for r in records] == [1, 3]
    assert records[0]["positions"] == 4
    assert "mine: best of 2 is ngram lookup 2-3 k " in captured.err
    assert run(["replay", path, *options]) == 0
    assert "mine: best of 2 is ngram" in capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize("command", ["simulate", "replay"])
def test_help_starts_at_once_and_imports_no_room(command) -> None:
    code = (
        "import sys; from draftgate.cli.main import run; "
        f"run(['{command}', '--help']); "
        "print([m for m in ('numpy', 'vllm', 'torch', 'tokenizers') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "Examples:" in done.stdout
