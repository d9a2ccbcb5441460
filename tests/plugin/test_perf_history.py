"""``--perf-history``: the run's cells, appended."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_project import Run

from draftgate.reporting.history import read
from draftgate.reporting.results_folder import ResultsError, ResultsFolder


def test_each_run_adds_its_cells(run: Run, project: Path) -> None:
    for _ in range(2):
        assert run("--perf-history=trend/history.jsonl", "-k", "other").ret == 0
    entries = read(project / "trend" / "history.jsonl")
    assert len({entry.run for entry in entries}) == 2
    assert {entry.cell for entry in entries} == {
        "other/none/sharegpt/bs2",
        "other/ngram-k3/sharegpt/bs2",
    }


def test_a_results_folder_that_cannot_be_written_does_not_cost_the_history(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise ResultsError("no space left")

    monkeypatch.setattr(ResultsFolder, "write_sensitivity", full)
    result = run("--perf-history=history.jsonl", "-k", "other-none")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*no space left*"])
    assert len(read(project / "history.jsonl")) == 1


def test_a_history_that_cannot_be_written_fails_the_run(run: Run, project: Path) -> None:
    (project / "history.jsonl").write_text("no json\n")
    result = run("--perf-history=history.jsonl", "-k", "other-none")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["the history lacks this run: history.jsonl: line 1 is no JSON*"])
