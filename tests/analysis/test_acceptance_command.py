"""`draftgate acceptance` over runs and traces, and the profiles it writes."""

from __future__ import annotations

import json

from run_examples import small_run, write_run
from trace_examples import record

from draftgate.cli.main import run


def test_runs_and_traces_stand_in_one_table(tmp_path, write_lines, capsys) -> None:
    folder = write_run(tmp_path / "run", small_run())
    trace = write_lines(record(), name="gsm8k.jsonl")
    assert run(["acceptance", str(folder), str(trace), "--format", "json"]) == 0
    captured = capsys.readouterr()
    records = json.loads(captured.out)
    assert captured.err == ""
    assert len(records) == 6 + 2  # cells that draft, and a trace's two proposers
    measured = next(r for r in records if r["source"] == "tiny/eagle3-k3/gsm8k/bs1")
    assert (measured["variant"], measured["requests"]) == ("eagle3-k3", 4)
    assert measured["acceptance_length"] > 1
    assert {r["variant"] for r in records[-2:]} == {"ngram", "eagle3"}
    assert run(["acceptance", str(folder)]) == 0


def test_a_cell_s_file_says_what_its_run_says(tmp_path, capsys) -> None:
    """As a trace it would have a step at every token."""
    folder = write_run(tmp_path / "run", small_run())
    file = folder / "cells" / "tiny-eagle3-k3-gsm8k-bs1.json"
    assert run(["acceptance", str(file), str(folder), "--format", "json"]) == 0
    alone, *of_run = json.loads(capsys.readouterr().out)
    assert alone in of_run


def test_two_runs_are_matched_by_length(tmp_path, capsys) -> None:
    folders = [str(write_run(tmp_path / name, small_run())) for name in "ab"]
    assert run(["acceptance", folders[0], "--against", folders[1], "--format", "json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert len(records) == 6
    assert all(r["acceptance_length"] == r["against"] for r in records)


def test_profiles_of_two_runs_would_overwrite_each_other(tmp_path, capsys) -> None:
    folders = [str(write_run(tmp_path / name, small_run())) for name in "ab"]
    assert run(["acceptance", *folders, "--profiles", str(tmp_path / "out")]) == 1
    assert "give the folder of one run" in capsys.readouterr().err


def test_profiles_are_written_one_a_scenario(tmp_path, capsys) -> None:
    folder = write_run(tmp_path / "run", small_run())
    out = tmp_path / "profiles"
    assert run(["acceptance", str(folder), "--profiles", str(out), "--format", "json"]) == 0
    assert sorted(path.name for path in out.iterdir()) == ["tiny-eagle3-k3", "tiny-ngram-k3"]
    profile = json.loads((out / "tiny-eagle3-k3" / "speculation_profile.json").read_text())
    assert profile["method"] == "eagle3"
    assert sorted(profile["per_category"]) == ["code", "gsm8k"]
    assert profile["validation"]["mean_consistency"]["passed"]
    assert "speculation_profile.json" in capsys.readouterr().err


def test_a_trace_without_acceptance_is_named(write_lines, capsys) -> None:
    path = write_lines(record(acc_ngram=None, acc_eagle=None))
    assert run(["acceptance", str(path)]) == 1
    assert "holds no acceptance" in capsys.readouterr().err
