from __future__ import annotations

import errno
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from report_examples import measurement, verdict

import draftgate.measure.atomic
from draftgate.measure.record import Measurement
from draftgate.reporting.results_folder import ResultsError, ResultsFolder
from draftgate.verdict.kinds import VerdictKind

NOW = datetime(2026, 7, 1, 12, 30, 5, tzinfo=UTC)
CELL = "a/ngram-k3/gsm8k/bs2"


def test_the_default_is_the_time_and_latest_leads_to_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders = [ResultsFolder.create(None, NOW).path for _ in range(3)]
    name = "2026-07-01T12-30-05Z"
    assert folders == [Path("results") / n for n in (name, f"{name}-2", f"{name}-3")]
    assert os.readlink("results/latest") == f"{name}-3"
    assert sorted(os.listdir("results")) == [name, f"{name}-2", f"{name}-3", "latest"]


def test_a_run_that_was_killed_is_seen_to_have_been_running(tmp_path):
    folder = ResultsFolder.create(tmp_path / "out")
    assert json.loads((folder.path / "run.json").read_text()) == {"exit_reason": "running"}
    assert json.loads((folder.path / "verdicts.json").read_text()) == []


def test_an_empty_folder_is_taken_and_what_lies_in_it_stays(tmp_path):
    (tmp_path / "junit.xml").write_text("mine")
    ResultsFolder.create(tmp_path)
    assert (tmp_path / "junit.xml").read_text() == "mine"


def test_a_folder_is_one_runs_alone(tmp_path):
    ResultsFolder.create(tmp_path / "out").write_run({"exit_reason": "ok"})
    with pytest.raises(ResultsError, match="already holds the results of a run; remove it or give"):
        ResultsFolder.create(tmp_path / "out")
    assert json.loads((tmp_path / "out" / "run.json").read_text()) == {"exit_reason": "ok"}


def test_what_is_written_reads_back(tmp_path):
    folder = ResultsFolder.create(tmp_path / "out")
    original, judged = measurement(CELL), verdict(CELL, VerdictKind.OK)
    folder.write_cell(original)
    folder.write_verdicts([judged])
    assert Measurement.read(folder.path / "cells" / "a-ngram-k3-gsm8k-bs2.json") == original
    assert json.loads((folder.path / "verdicts.json").read_text()) == [judged.stored()]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_an_error_names_folder_and_remedy_and_leaves_no_half_file(tmp_path, monkeypatch, number):
    folder = ResultsFolder.create(tmp_path / "out")

    def fail(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(draftgate.measure.atomic.os, "fsync", fail)
    for write in (
        lambda: folder.write_cell(measurement(CELL)),
        lambda: folder.write_verdicts([]),
        lambda: folder.write_run({}),
    ):
        with pytest.raises(ResultsError) as caught:
            write()
        assert str(caught.value) == (
            f"cannot write results to {tmp_path / 'out'}: {os.strerror(number)}; "
            "free space or give a writable folder with --perf-json DIR"
        )
    assert sorted(os.listdir(folder.path)) == ["cells", "run.json", "verdicts.json"]
    assert os.listdir(folder.path / "cells") == []


def test_a_file_in_the_way_is_explained(tmp_path):
    (tmp_path / "out").write_text("mine")
    with pytest.raises(ResultsError, match=r"cannot write results to .*out: "):
        ResultsFolder.create(tmp_path / "out")
