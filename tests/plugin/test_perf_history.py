"""``--perf-history``: the run's cells, appended."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_project import Run

from draftgate.reporting.history import read


def test_each_run_adds_its_cells(run: Run, project: Path) -> None:
    for _ in range(2):
        assert run("--perf-history=trend/history.jsonl", "-k", "other").ret == 0
    entries = read(project / "trend" / "history.jsonl")
    assert len({entry.run for entry in entries}) == 2
    assert {entry.cell for entry in entries} == {
        "other/none/sharegpt/bs2",
        "other/ngram-k3/sharegpt/bs2",
    }


def test_a_history_that_cannot_be_written_fails_the_run(run: Run, project: Path) -> None:
    (project / "history.jsonl").write_text("no json\n")
    result = run("--perf-history=history.jsonl", "-k", "other-none")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["the history lacks this run: history.jsonl: line 1 is no JSON*"])
