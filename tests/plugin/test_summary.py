"""The end of a run on the terminal: the worst first, and where the results are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fake_engines import FakeEngines, died
from small_project import Run


def summary(result: pytest.RunResult) -> list[str]:
    """Lines of draftgate's section."""
    lines = result.outlines
    start = next(i for i, line in enumerate(lines) if "draftgate: profile small" in line)
    length = next(i for i, line in enumerate(lines[start:]) if line.startswith("results: "))
    return [line.rstrip() for line in lines[start + 1 : start + length + 1]]


def test_a_row_a_cell_with_its_numbers(run: Run, baselined: Path) -> None:
    lines = summary(run())
    assert lines[0].split() == ["cell", "tok/s", "speedup", "AL", "tok/step", "verdict"]
    rows = {line.split()[0]: line.split()[1:] for line in lines[1:9]}
    assert rows["tiny/none/gsm8k/bs2"] == ["200", "-", "-", "1.00", "OK"]
    timed, untimed = rows["tiny/ngram-k3/gsm8k/bs2"], rows["tiny/ngram-k3/sharegpt/bs2"]
    assert [timed[i] for i in (2, 3, -1)] == ["±0", "%", "OK"]
    assert untimed[:2] == ["-", "-"]
    *counts, detectable, folder = lines[9:]
    assert (counts, folder) == (["", "8 cells: 8 OK"], "results: results/2")
    number = r"\d+\.\d(\.\.\d+\.\d)? %"
    assert re.fullmatch(
        rf"smallest detectable loss \(80 % power\): output_throughput {number}, speedup {number}",
        detectable,
    )


def test_the_worst_comes_first(run: Run, engines: FakeEngines, baselined: Path) -> None:
    engines["other/ngram-k3"].fails_at = {0: died("other/ngram-k3", "start-up")}
    engines["tiny/ngram-k2"].slower = 1.5
    engines["tiny/ngram-k3"].slower = 0.7
    lines = summary(run())
    verdicts = [line.split()[-1] for line in lines[1:9]]
    assert verdicts == ["INVALID", "REGRESSED", "IMPLAUSIBLE", *["OK"] * 5]
    assert "8 cells: 1 INVALID, 1 REGRESSED, 1 IMPLAUSIBLE, 5 OK" in lines
    assert lines[1].split()[:3] == ["other/ngram-k3/sharegpt/bs2", "-", "-"]
    # What passes without being OK gets its line here, since there is no failure to read.
    assert any(line.startswith("IMPLAUSIBLE tiny/ngram-k3/gsm8k/bs2 speedup") for line in lines)
    assert not any(line.startswith("REGRESSED") for line in lines)


def test_a_run_interrupted_at_start_up_says_where_its_results_are(
    run: Run, engines: FakeEngines
) -> None:
    engines["tiny/none"].fails_at = {0: KeyboardInterrupt()}
    assert summary(run()) == ["results: results/1"]


def test_the_command_creates_the_missing_baselines(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a shell that does not know the environment's profile, too (`make perf` sets it)."""
    monkeypatch.setenv("DRAFTGATE_PROFILE", "./small.toml")
    lines = summary(run("-m", "perf and not slow", "-k", "other-none", "--profile=auto"))
    [line] = [line for line in lines if line.startswith("UNBASELINED")]
    command = line.partition("trust: ")[2]
    assert command == (
        "pytest -m 'perf and not slow' perf_tests --profile ./small.toml "
        "--baseline-dir baselines --update-baselines=new"
    )
