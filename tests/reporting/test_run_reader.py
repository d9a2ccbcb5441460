"""Runs read back, and folders that must not become a report."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from run_examples import START, cell, small_run, write_run

from draftgate.reporting.results_folder import ResultsError
from draftgate.reporting.run_reader import read_run
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.verdict import Verdict


def test_a_run_comes_back_as_it_was_written(tmp_path: Path) -> None:
    cells = small_run()
    red = Verdict(
        "tiny/ngram-k3/gsm8k/bs1", "speedup", VerdictKind.REGRESSED, 1.0, 1.2, "", 0.83, 0.8, 0.86,
        0.001, 3, 0.03, "step time", counted="pairs of 3 starts",
    )  # fmt: skip
    counted = Verdict(
        "tiny/ngram-k3/gsm8k/bs1", "per_position_acceptance_rate", VerdictKind.REGRESSED,
        (0.5, 0.25), (0.5, 0.3), limit=0.0, evidence="accepted_tokens 9 -> 8",
    )  # fmt: skip
    run = read_run(write_run(tmp_path / "run", cells, [red, counted]))
    assert {m.draftgate.subject.cell for m in run.measurements} == {
        m.draftgate.subject.cell for m in cells
    }
    assert run.verdicts == (red, counted)
    assert [verdict.line() for verdict in run.verdicts] == [red.line(), counted.line()]
    assert run.finished


@pytest.mark.parametrize("reason", ["running", "interrupted"])
def test_half_a_run_is_refused_unless_wanted(tmp_path: Path, reason: str) -> None:
    folder = write_run(tmp_path / "run", small_run()[:2], exit_reason=reason)
    with pytest.raises(ResultsError, match=rf"did not finish \(exit reason '{reason}', 2 cells"):
        read_run(folder)
    run = read_run(folder, partial=True)
    assert not run.finished
    assert len(run.measurements) == 2


def test_failing_tests_are_no_half_run(tmp_path: Path) -> None:
    assert read_run(write_run(tmp_path / "r", small_run()[:1], exit_reason="tests_failed")).finished


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"machine": "another"}, "machine is .* in one cell and"),
        ({"commit": "def"}, "commit is .* in one cell and"),
        ({"started": START - timedelta(days=1)}, "outside the run's time"),
        ({"started": START + timedelta(days=1)}, "outside the run's time"),
    ],
)
def test_cells_of_several_runs_are_refused(tmp_path: Path, other, said: str) -> None:
    cells = [cell("tiny/none/gsm8k/bs1"), cell("tiny/ngram-k3/gsm8k/bs1", **other)]
    with pytest.raises(ResultsError, match=f"mixes several runs: .*{said}"):
        read_run(write_run(tmp_path / "run", cells))


def test_a_cell_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [cell("tiny/none/gsm8k/bs1")])
    [file] = (folder / "cells").glob("*.json")
    (folder / "cells" / "copy.json").write_bytes(file.read_bytes())
    with pytest.raises(ResultsError, match="tiny/none/gsm8k/bs1 is there twice"):
        read_run(folder)


def overwrite(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_newer_files_say_upgrade(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [cell("tiny/none/gsm8k/bs1")])
    [file] = (folder / "cells").glob("*.json")
    data = json.loads(file.read_text())
    overwrite(file, draftgate={**data["draftgate"], "schema_version": 99})
    with pytest.raises(ResultsError, match=r"99 is newer than this draftgate reads .* upgrade"):
        read_run(folder)
    file.write_text(json.dumps(data))
    overwrite(folder / "run.json", schema_version=7)
    with pytest.raises(ResultsError, match=r"run\.json: schema_version 7 is newer"):
        read_run(folder)
    overwrite(folder / "run.json", schema_version=1)
    kinds = json.loads((folder / "verdicts.json").read_text())
    (folder / "verdicts.json").write_text(json.dumps([{**kinds[0], "verdict": "PURPLE"}]))
    with pytest.raises(ResultsError, match=r"\[0\]\.verdict is unknown .* upgrade"):
        read_run(folder)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("run.json", "{", "not JSON"),
        ("run.json", "[]", "holds no object"),
        ("run.json", "[" * 100_000, "not JSON"),
        ("verdicts.json", "{}", "holds no list"),
        ("verdicts.json", "[7]", "has no cell, metric and verdict"),
        ("verdicts.json", '[{"cell": "c", "metric": 7, "verdict": "OK"}]', r"\[0\]\.metric"),
        (
            "verdicts.json",
            '[{"cell": "c", "metric": "m", "verdict": "OK", "p": "low"}]',
            r"\[0\]\.p: Input should be a valid number",
        ),
        ("cells/tiny-none-gsm8k-bs1.json", "{}", "not a draftgate measurement"),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, name: str, text: str, said: str) -> None:
    folder = write_run(tmp_path / "run", [cell("tiny/none/gsm8k/bs1")])
    (folder / name).write_text(text)
    with pytest.raises(ResultsError, match=said) as caught:
        read_run(folder)
    assert Path(name).name in str(caught.value)


def test_what_is_no_folder_of_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="does not exist"):
        read_run(tmp_path / "gone")
    (tmp_path / "file").touch()
    with pytest.raises(ResultsError, match="is a file; give the folder"):
        read_run(tmp_path / "file")
    with pytest.raises(ResultsError, match=r"run\.json: No such file"):
        read_run(tmp_path)
    with pytest.raises(ResultsError, match="no cell was measured"):
        read_run(write_run(tmp_path / "empty", []))
