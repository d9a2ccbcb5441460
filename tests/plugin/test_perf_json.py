"""``--perf-json``: the results folder, and what happens where it cannot be written."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_engines import FakeEngines
from outcome import cells_of, failures, first_lines
from small_project import Run

import draftgate.measure.record
import draftgate.reporting.results_folder
from draftgate.measure.atomic import write_text
from draftgate.measure.record import Measurement

Load = Callable[[str], Any]
RECORD = {
    *("cell", "metric", "verdict", "value", "baseline", "unit", "ratio"),
    *("ci_low", "ci_high", "p", "n", "limit", "cause", "counted", "evidence"),
}


def test_a_run_writes_its_facts_its_cells_and_its_verdicts(
    run: Run, project: Path, load: Load
) -> None:
    result = run("--perf-json=out/here", "-k", "tiny-ngram-k3")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["results: out/here"])
    facts = load("out/here/run.json")
    assert facts["exit_reason"] == "ok"
    assert facts["profile"] == "small"
    assert facts["engine_starts"] == 2  # the arm and its control
    assert facts["cells"] == ["tiny/ngram-k3/gsm8k/bs2", "tiny/ngram-k3/sharegpt/bs2"]
    assert {"fingerprint", "provenance", "started", "ended"} <= facts.keys()
    assert all(set(record) == RECORD for record in load("out/here/verdicts.json"))
    cells = {path.stem for path in (project / "out/here/cells").iterdir()}
    # The untimed arm is compared with its control's own cell, which was therefore measured too.
    assert cells == {f"tiny-{c}-bs2" for c in ("ngram-k3-gsm8k", "ngram-k3-sharegpt")} | {
        "tiny-none-sharegpt-bs2"
    }
    for path in (project / "out/here/cells").iterdir():
        Measurement.read(path)


def test_the_default_is_named_by_time_and_latest_leads_to_it(
    pytester: pytest.Pytester, project: Path, engines: FakeEngines
) -> None:
    for _ in range(2):  # most likely in the same second
        result = pytester.runpytest_inprocess(
            "-p", "no:cacheprovider", "perf_tests", "--profile=./small.toml", "-k", "other-none"
        )
        assert result.ret == 0
    *folders, latest = sorted(os.listdir("results"))
    assert latest == "latest"
    assert len(folders) == 2
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ", name) for name in folders)
    assert os.readlink("results/latest") == folders[-1]


def test_a_used_folder_is_refused_before_anything_starts(
    run: Run, engines: FakeEngines, load: Load
) -> None:
    only = ("--perf-json=out", "-k", "other-none")
    assert run(*only).ret == 0
    started, before = len(engines.hosts), load("out/run.json")
    result = run(*only)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: out already holds the results of a run; *--perf-json DIR"])
    assert len(engines.hosts) == started
    assert load("out/run.json") == before


def test_a_file_in_the_way_is_a_usage_error(run: Run, project: Path, engines: FakeEngines) -> None:
    (project / "out").write_text("mine")
    result = run("--perf-json=out")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: cannot write results to out: *--perf-json DIR"])
    assert not engines.hosts
    assert (project / "out").read_text() == "mine"


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """A disk on which writing fails with ``disk["error"]`` where that is not 0."""
    state = {"error": 0}

    def write(path: Path, text: str) -> None:
        if state["error"]:
            raise OSError(state["error"], os.strerror(state["error"]))
        write_text(path, text)

    monkeypatch.setattr(draftgate.measure.record, "write_text", write)
    monkeypatch.setattr(draftgate.reporting.results_folder, "write_text", write)
    return state


def test_a_read_only_folder_is_a_usage_error(
    run: Run, engines: FakeEngines, disk: dict[str, int]
) -> None:
    disk["error"] = errno.EROFS
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: cannot write results to results/1: Read-only file*"])
    assert not engines.hosts


def test_a_disk_that_fills_up_fails_the_tests_it_concerns_and_hides_no_verdict(
    run: Run, engines: FakeEngines, disk: dict[str, int]
) -> None:
    def fill(record: Any) -> Any:
        disk["error"] = errno.ENOSPC
        return record

    engines["tiny/ngram-k3"].alter = fill  # the cells of tiny/none are written before
    result = run("-k", "gsm8k")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert cells_of(result) == {"tiny-ngram-k3-gsm8k-bs2", "tiny-ngram-k2-gsm8k-bs2"}
    for line in first_lines(result).values():
        assert line.startswith("cannot write results to results/1: No space left on device; free")
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()
    result.stdout.fnmatch_lines(
        ["tiny/ngram-k2/gsm8k/bs2 *UNBASELINED", "cannot write results to results/1: No space*"]
    )
    assert not any(host.alive for host in engines)


def test_what_could_not_be_written_is_written_once_there_is_space(
    run: Run, engines: FakeEngines, disk: dict[str, int], project: Path, load: Load
) -> None:
    def full(record: Any) -> Any:
        disk["error"] = errno.ENOSPC
        return record

    def free(record: Any) -> Any:
        disk["error"] = 0
        return record

    engines["tiny/none"].alter = full
    engines["other/none"].alter = free
    result = run("-k", "none-sharegpt")
    assert cells_of(result) == {"tiny-none-sharegpt-bs2"}
    assert {path.stem for path in (project / "results/1/cells").iterdir()} == {
        "tiny-none-sharegpt-bs2",
        "other-none-sharegpt-bs2",
    }
    assert len(load("results/1/verdicts.json")) == len(failures(result)) * 2
    assert load("results/1/run.json")["exit_reason"] == "tests_failed"
