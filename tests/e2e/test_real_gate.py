"""The main job on real vLLM, small: real engines, the shipped models, the committed baselines."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from junitparser import JUnitXml

ROOT = Path(__file__).parents[2]
SMALL = "llama-tiny-ngram-k3-gsm8k-bs16"
BASELINE = "portable/x86-avx2-fp32/llama-tiny/ngram-k3.json"


def gate(arguments: list[str], results: Path) -> subprocess.Popen[str]:
    """Start `pytest perf_tests` as a user would."""
    command = [sys.executable, "-m", "pytest", "perf_tests", "--profile", "cpu"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "CI"))}
    return subprocess.Popen(
        [*command, "--perf-json", str(results), *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=600)
    return output


def failures(junit: Path) -> dict[str, str]:
    """Test name -> first line of its failure."""
    return {
        case.name: str(result.text or result.message).strip().splitlines()[0]
        for suite in JUnitXml.fromfile(str(junit))
        for case in suite
        for result in case.result
    }


def test_one_changed_digit_turns_its_cell_red_and_no_other(tmp_path: Path) -> None:
    baselines = tmp_path / "baselines"
    shutil.copytree(ROOT / "baselines", baselines)
    path = baselines / BASELINE
    stored = json.loads(path.read_text())
    counts = stored["cells"]["gsm8k/bs16"]["metrics"]
    counts["accepted_tokens"] += 1
    path.write_text(json.dumps(stored))
    junit = tmp_path / "junit.xml"
    selection = (
        "gsm8k-bs16 and (none or ngram) and llama and not throughput and not speedup and not share"
    )
    process = gate(
        ["-k", selection, "--baseline-dir", str(baselines), f"--junitxml={junit}"],
        tmp_path / "results",
    )
    output = finished(process)
    assert process.returncode == pytest.ExitCode.TESTS_FAILED, output
    red = failures(junit)
    assert set(red) == {f"test_acceptance_length[{SMALL}]"}, output
    line = red[f"test_acceptance_length[{SMALL}]"]
    assert line.startswith("REGRESSED llama-tiny/ngram-k3/gsm8k/bs16 acceptance_length ")
    old, new = counts["accepted_tokens"], counts["accepted_tokens"] - 1
    assert f"accepted_tokens {old} -> {new}" in line
    assert "limit exact" in line
    verdicts = json.loads((tmp_path / "results" / "verdicts.json").read_text())
    assert {v["verdict"] for v in verdicts} == {"OK", "REGRESSED"}


def engines_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    children = psutil.Process(process.pid).children(recursive=True)
    return [c for c in children if "draftgate.engine." in " ".join(c.cmdline())]


def test_a_killed_engine_fails_its_cells_and_the_others_finish(tmp_path: Path) -> None:
    results, junit = tmp_path / "results", tmp_path / "junit.xml"
    selection = "llama and gsm8k and (none or ngram or eagle3) and outputs_unchanged"
    process = gate(["-k", selection, f"--junitxml={junit}"], results)
    deadline = time.monotonic() + 300
    while not list(results.glob("cells/*.json")):
        assert process.poll() is None, finished(process)
        assert time.monotonic() < deadline
        time.sleep(0.1)
    engines = engines_of(process)
    victim = next(e for e in engines if "ngram" in _log_of(e))
    victim.send_signal(signal.SIGKILL)
    output = finished(process)
    assert process.returncode == pytest.ExitCode.TESTS_FAILED, output
    red = failures(junit)
    assert red
    assert all("ngram-k3" in name for name in red), red
    assert all("llama-tiny/ngram-k3" in line and "SIGKILL" in line for line in red.values()), red
    assert list(results.glob("cells/llama-tiny-eagle3-k3-*.json"))
    assert not [e for e in engines if e.is_running() and e.status() != psutil.STATUS_ZOMBIE]


def _log_of(engine: psutil.Process) -> str:
    return os.readlink(f"/proc/{engine.pid}/fd/1")
