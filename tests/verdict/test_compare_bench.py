"""Results of `vllm bench serve` against each other."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from draftgate.measure.bench_file import BenchFileError, BenchRun, read_bench
from draftgate.verdict.compare import exit_code
from draftgate.verdict.compare_bench import DEFAULT_LIMITS, compare_bench
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.rule import TimedRule
from draftgate.verdict.verdict import Verdict


def result(slower: float = 1.0, seed: int = 0, **changes: Any) -> dict[str, Any]:
    """As `--save-result` writes it: 50 requests, a per cent of noise."""
    random = np.random.default_rng(seed)
    luck = float(np.exp(random.normal(0, 0.004)))
    difficulty = np.random.default_rng(99).lognormal(0, 0.5, 50)
    latencies = difficulty * np.exp(random.normal(0, 0.01, 50)) * slower * luck
    return {
        "date": "20260701-120000",
        "backend": "vllm",
        "model_id": "meta-llama/Llama-3.1-8B-Instruct",
        "num_prompts": 50,
        "request_rate": "inf",
        "max_concurrency": 8,
        "duration": 10 * slower * luck,
        "completed": 50,
        "failed": 0,
        "total_input_tokens": 5000,
        "total_output_tokens": 20000,
        "output_throughput": 2000 / slower / luck,
        "mean_ttft_ms": 40 * slower * luck,
        "mean_tpot_ms": 5 * slower * luck,
        "latencies": latencies.tolist(),
        "spec_decode_num_drafts": 8000,
        "spec_decode_accepted_tokens": 12000,
        **changes,
    }


def runs(count: int, **changes: Any) -> list[BenchRun]:
    start = changes.pop("first_seed", 0)
    return [BenchRun.model_validate(result(seed=start + i, **changes)) for i in range(count)]


def compare(before: list[BenchRun], after: list[BenchRun]) -> dict[str, Verdict]:
    found = compare_bench(before, after, DEFAULT_LIMITS, TimedRule())
    return {verdict.metric: verdict for verdict in found}


def test_several_runs_a_side_are_sessions() -> None:
    found = compare(runs(4), runs(4, first_seed=10))
    assert {v.verdict for v in found.values()} == {VerdictKind.OK}
    assert found["output_throughput"].cell == "Llama-3.1-8B-Instruct/50-prompts/bs8"
    assert "mean_e2el_ms" not in found
    assert exit_code(list(found.values())) == 0


def test_slower_runs_are_regressed() -> None:
    found = compare(runs(4), runs(4, first_seed=10, slower=1.12))
    assert found["output_throughput"].verdict is VerdictKind.REGRESSED
    assert found["mean_tpot_ms"].verdict is VerdictKind.REGRESSED
    assert found["acceptance_length"].verdict is VerdictKind.OK
    assert exit_code(list(found.values())) == 2


def test_lost_acceptance_is_regressed() -> None:
    found = compare(runs(4), runs(4, spec_decode_accepted_tokens=10000))
    assert found["acceptance_length"].verdict is VerdictKind.REGRESSED
    assert found["acceptance_length"].ratio == pytest.approx(2.25 / 2.5)


def test_single_runs_are_judged_by_their_latencies_and_say_what_they_lack() -> None:
    found = compare(runs(1), runs(1, first_seed=10))
    assert found["output_throughput"].verdict is VerdictKind.UNDERPOWERED
    assert found["mean_e2el_ms"].verdict is VerdictKind.OK
    assert found["mean_e2el_ms"].counted == "requests"
    assert exit_code(list(found.values())) == 0
    slow = compare(runs(1), runs(1, first_seed=10, slower=1.12))
    assert slow["mean_e2el_ms"].verdict is VerdictKind.REGRESSED
    assert exit_code(list(slow.values())) == 2


def test_single_runs_without_latencies_have_no_answer() -> None:
    found = compare(runs(1, latencies=[]), runs(1, latencies=[]))
    assert {v.verdict for v in found.values()} == {VerdictKind.UNDERPOWERED}
    assert exit_code(list(found.values())) == 3


def test_lengths_of_few_texts_may_scatter() -> None:
    """Equal engines on a GPU part, and what follows is as long as it likes."""
    for tokens, stale in ((21_000, False), (22_000, True)):  # 50 texts: 7.7 %
        found = compare(runs(1), runs(1, total_output_tokens=tokens))
        assert (VerdictKind.STALE in {v.verdict for v in found.values()}) is stale


@pytest.mark.parametrize(
    ("changes", "kind", "text"),
    [
        ({"total_input_tokens": 5001}, VerdictKind.STALE, "other prompts"),
        ({"completed": 49, "failed": 1}, VerdictKind.INVALID, "3 requests did not complete"),
        ({"total_output_tokens": 15000}, VerdictKind.STALE, "output lengths shifted"),
    ],
)
def test_runs_that_do_not_compare(changes: dict[str, Any], kind: VerdictKind, text: str) -> None:
    found = compare(runs(3), runs(3, **changes))
    assert {v.verdict for v in found.values()} == {kind}
    assert text in found["measurement"].line()
    assert exit_code(list(found.values())) == 3


@pytest.mark.parametrize("count", [1, 3])
def test_drafts_that_the_second_side_no_longer_makes_are_invalid(count: int) -> None:
    silent = {key: None for key in result() if key.startswith("spec_decode_")}
    found = compare(runs(count), runs(count, **silent))
    assert found["acceptance_length"].verdict is VerdictKind.INVALID
    assert exit_code(list(found.values())) == 3


def test_another_setting_is_a_line_a_side() -> None:
    kinds = [
        v.verdict
        for v in compare_bench(runs(1), runs(1, max_concurrency=16), DEFAULT_LIMITS, TimedRule())
    ]
    assert kinds == [VerdictKind.INVALID, VerdictKind.UNBASELINED]


@pytest.mark.parametrize("bad", [math.nan, 0.0, -1.0, math.inf])
def test_a_number_that_is_none_is_invalid(bad: float) -> None:
    found = compare(runs(3), runs(3, output_throughput=bad))
    assert found["output_throughput"].verdict is VerdictKind.INVALID
    assert found["mean_ttft_ms"].verdict is VerdictKind.OK
    lost = compare(runs(1), runs(1, latencies=[1.0] * 49 + [bad]))
    assert lost["mean_e2el_ms"].verdict is VerdictKind.INVALID


def test_files_of_appended_runs_and_folders(tmp_path: Path) -> None:
    lines = [json.dumps(result(seed=i)) for i in range(3)]
    (tmp_path / "appended.json").write_text("\n".join(lines))
    assert len(read_bench(tmp_path / "appended.json")) == 3
    for i, line in enumerate(lines):
        (tmp_path / f"{i}.json").write_text(line)
    assert len(read_bench(tmp_path)) == 6


def test_nan_is_read_and_left_to_the_rules(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    file.write_text(json.dumps(result(mean_tpot_ms=math.nan)))
    [run] = read_bench(file)
    assert run.mean_tpot_ms is not None
    assert math.isnan(run.mean_tpot_ms)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("", "holds no result"),
        ('{"model_id": "m"}', "key num_prompts"),
        ("[1]", "key"),
        (json.dumps(result(output_throughput="fast")), "key output_throughput"),
    ],
)
def test_files_that_are_no_results(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "r.json"
    file.write_text(text)
    with pytest.raises(BenchFileError, match=message) as caught:
        read_bench(file)
    assert str(file) in str(caught.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BenchFileError, match="No such file"):
        read_bench(tmp_path / "none.json")
