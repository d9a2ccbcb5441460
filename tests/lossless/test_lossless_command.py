"""`draftgate lossless` as a shell sees it, with toy engines in place of vLLM."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from toy_engine import ToyHost

from draftgate.cli.main import run
from draftgate.lossless import examine
from draftgate.lossless.prompts import PromptsError, read_prompts

Captured = pytest.CaptureFixture[str]
NGRAM = {"method": "ngram", "num_speculative_tokens": 2}
KEYS = [
    "verdict",
    "requests",
    "tokens",
    "identical",
    "near_ties",
    "divergences",
    "pit_p",
    "details",
]


@pytest.fixture(autouse=True)
def _toy_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examine, "EngineHost", ToyHost)


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    prompts = tmp_path / "mine.txt"
    prompts.write_text("".join(f"prompt {index} {'x' * index}\n" for index in range(12)))
    options = ["--prompts", str(prompts), "--count", "40", "--max-tokens", "40"]
    return ["lossless", "--model", "toy", *options, "--log-dir", str(tmp_path)]


def judged(command: list[str], fault: str | None, capsys: Captured, *more: str) -> tuple[int, Any]:
    config = json.dumps({**NGRAM, "fault": fault})
    code = run([*command, "--speculative-config", config, "--format", "json", *more])
    return code, json.loads(capsys.readouterr().out)


def test_an_honest_engine_is_lossless(command: list[str], capsys: Captured) -> None:
    code, record = judged(command, None, capsys)
    assert code == 0
    assert list(record) == KEYS
    assert record["verdict"] == "lossless"
    assert record["requests"] == record["identical"] == 12
    assert record["tokens"] == 12 * 40
    assert record["near_ties"] == record["divergences"] == 0
    assert record["pit_p"] > 1e-6
    assert record["details"]["pit"]["tokens"] == 12 * 40


def test_wrong_greedy_tokens_are_shown_in_their_context(
    command: list[str], capsys: Captured
) -> None:
    code, record = judged(command, "greedy", capsys)
    assert code == 2
    assert record["verdict"] == "not lossless"
    assert record["divergences"] > 0
    first = record["details"]["divergences"][0]
    assert first["gap_nats"] > record["details"]["tolerance_nats"]
    assert first["token"] != first["control_token"]
    assert first["goes_on"] != first["control_goes_on"]
    assert len(first["first_difference_after"]) <= first["position"]


def test_wrong_sampling_is_seen_where_greedy_output_is_right(
    command: list[str], capsys: Captured
) -> None:
    code, record = judged(command, "sampled", capsys)
    assert code == 2
    assert record["identical"] == record["requests"]
    assert record["pit_p"] < 1e-6


def test_near_ties_are_counted_and_forgiven(command: list[str], capsys: Captured) -> None:
    code, record = judged(command, "tie", capsys, "--temperature", "0")
    assert code == 0
    assert record["near_ties"] > 0 == record["divergences"]
    assert record["identical"] < record["requests"]
    assert record["pit_p"] is None
    assert all(0 < tie["gap_nats"] < 1e-3 for tie in record["details"]["near_ties"])


def test_other_weights_are_not_the_target(command: list[str]) -> None:
    from draftgate.engine import EngineSpec

    question = examine.Question(
        suspect=EngineSpec(model="toy", speculative_config={"num_speculative_tokens": 2}),
        control=EngineSpec(model="another"),
        prompts=read_prompts(command[4], 12),
        max_tokens=40,
    )
    finding = examine.examine(question, Path("unused"))
    assert not finding.lossless
    assert not finding.equality.holds
    assert finding.calibration is not None
    assert not finding.calibration.accepted


def test_the_table_says_what_differs(command: list[str], capsys: Captured) -> None:
    config = json.dumps({**NGRAM, "fault": "greedy"})
    assert run([*command, "--speculative-config", config]) == 2
    captured = capsys.readouterr()
    assert "not lossless" in captured.out
    assert "divergence in mine-" in captured.out
    assert "speculative decoding: 480 greedy tokens" in captured.err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--speculative-config", "{method"], "--speculative-config is no JSON"),
        (["--speculative-config", "[1]"], "must be a JSON object"),
        (["--engine-args", '{"tensor_parallel_size": 0}'], "tensor_parallel_size: Input should be"),
        (["--prompts", "nowhere.txt"], "no workload"),
        (["--max-tokens", "70"], "no prompt fits: with max_model_len 64"),
        (["--speculative-config", json.dumps({**NGRAM, "fault": "start"})], "no such head"),
        (
            ["--speculative-config", '{"method": "egle"}'],
            "--speculative-config: method: unknown method",
        ),
        (["--speculative-config", '{"method": "ngram"}'], "num_speculative_tokens: missing key"),
        (["--speculative-config", json.dumps({**NGRAM, "prompt_lookup_min": 0})], "out of range"),
        (["--temperature", "-1"], "temperature"),
    ],
)
def test_bad_input_is_a_tool_error(
    command: list[str], capsys: Captured, change: list[str], message: str
) -> None:
    assert run([*command, "--speculative-config", json.dumps(NGRAM), *change]) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_prompts_come_from_workloads_and_files(tmp_path: Path) -> None:
    assert [name for name, _ in read_prompts("gsm8k", 3)] == [f"gsm8k-000{i}" for i in range(3)]
    lines = tmp_path / "chats.jsonl"
    lines.write_text('{"prompt": "a"}\n\n{"prompt": "b", "other": 1}\n')
    assert read_prompts(str(lines), 9) == (("chats-0000", "a"), ("chats-0001", "b"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"prompt": "a"}\n{"text": "b"}\n', "line 2"),
        ("nonsense\n", "line 1"),
        ('{"prompt": 3}\n', '"prompt" is no text'),
        ("\n", "no prompt in it"),
    ],
)
def test_a_bad_prompt_file_is_named(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(content)
    with pytest.raises(PromptsError, match=message):
        read_prompts(str(path), 5)


def test_what_could_refute_nothing_is_undecided(command: list[str], capsys: Captured) -> None:
    code, record = judged([*command, "--max-tokens", "1"], None, capsys)
    assert code == 3
    assert record["verdict"] == "undecided"
    assert "12 sampled tokens can refute nothing" in record["details"]["undecided"]


def test_without_an_accepted_draft_nothing_is_decided(command: list[str], capsys: Captured) -> None:
    code, record = judged(command, "idle", capsys)
    assert code == 3
    assert record["verdict"] == "undecided"
    assert "none of 12 drafted tokens was accepted" in record["details"]["undecided"]
    assert record["details"]["drafting"]["accepted_tokens"] == 0
