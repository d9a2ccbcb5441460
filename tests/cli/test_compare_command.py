"""`draftgate compare`: what it reads, prints and returns."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_engines import Script
from recorded_cell import measurement

from draftgate.cli.main import run
from draftgate.reporting.results_folder import ResultsFolder

CELLS = ("t/ngram-k3/gsm8k/bs2", "t/ngram-k3/sharegpt/bs2")
KEYS = [
    *("cell", "metric", "verdict", "value", "baseline", "unit", "ratio"),
    *("ci_low", "ci_high", "p", "n", "limit", "cause"),
]

Folder = Callable[..., str]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Writes a results folder of a run that ended; returns its path."""

    def write(
        name: str, script: Script | None = None, cells: tuple[str, ...] = CELLS, **facts: str
    ) -> str:
        results = ResultsFolder.create(tmp_path / name)
        for cell in cells:
            results.write_cell(measurement(cell, script))
        results.write_run({"exit_reason": "ok", **facts})
        return str(results.path)

    return write


def test_equal_runs_exit_0(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", folder("a"), folder("b")]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0].split() == KEYS
    assert out.splitlines()[-1].endswith("OK")
    assert "judged as on a quiet machine" in err


def test_the_profile_that_both_runs_name_says_how_noisy_they_are(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sessions of the testbed's machines differ by 15 %: a sixth is no regression there."""
    slower = Script(slower=1.2)
    assert run(["compare", folder("a"), folder("b", slower)]) == 2
    named = [folder("c", profile="cpu"), folder("d", slower, profile="cpu")]
    capsys.readouterr()
    assert run(["compare", *named, "--limit", "speedup=0.5"]) == 0
    assert "quiet machine" not in capsys.readouterr().err
    assert run(["compare", named[0], folder("e", slower, profile="cpu-full")]) == 2


def test_a_run_that_was_interrupted_is_told(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["compare", folder("a"), folder("b", exit_reason="interrupted")])
    assert "b holds a run that did not end" in capsys.readouterr().err


def test_a_regression_exits_2_and_says_why(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", folder("a"), folder("b", Script(slower=1.3)), "--format=json"]) == 2
    out, err = capsys.readouterr()
    records = json.loads(out)
    assert all(list(record) == KEYS for record in records)
    red = {r["metric"] for r in records if r["verdict"] == "REGRESSED"}
    assert red == {"output_throughput", "speedup"}
    assert f"REGRESSED {CELLS[0]} output_throughput " in err
    assert "step time +30.0 %, acceptance unchanged" in err


def test_a_wider_limit_lets_it_pass(folder: Folder) -> None:
    arguments = [folder("a"), folder("b", Script(slower=1.1))]
    limits = ["--limit", "output_throughput=0.2", "--limit", "speedup=0.2"]
    assert run(["compare", *arguments]) == 2
    assert run(["compare", *arguments, *limits]) == 0


def test_a_limit_on_what_is_not_judged_is_refused(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    """A misspelt limit would leave the default, and pass what it should not."""
    assert run(["compare", folder("a"), folder("b"), "--limit", "throughput=0.02"]) == 1
    err = capsys.readouterr().err
    assert "throughput: not judged here" in err
    assert "output_throughput" in err


def test_a_lost_cell_exits_3(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", folder("a"), folder("b", cells=CELLS[:1]), "--format=csv"]) == 3
    out, err = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [row["verdict"] for row in rows if row["cell"] == CELLS[1]] == ["INVALID"]
    assert f"INVALID {CELLS[1]} measurement (measured in the first run only" in err


def test_a_run_that_did_not_end_is_told(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = folder("a"), folder("b")
    (Path(second) / "run.json").write_text('{"exit_reason": "running"}')
    run(["compare", first, second])
    assert f"{second} holds a run that did not end" in capsys.readouterr().err


def spoil(path: str, change: Callable[[dict[str, Any]], None]) -> None:
    file = next((Path(path) / "cells").iterdir())
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))


def newer(data: dict[str, Any]) -> None:
    data["draftgate"]["schema_version"] = 99


def not_a_number(data: dict[str, Any]) -> None:
    data["draftgate"]["timed"]["speedup"][0] = float("nan")


@pytest.mark.parametrize(
    ("change", "message"), [(newer, "newer than this draftgate reads"), (dict.clear, "draftgate")]
)
def test_a_file_that_cannot_be_read_exits_1(
    folder: Folder,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[dict[str, Any]], None],
    message: str,
) -> None:
    first, second = folder("a"), folder("b")
    spoil(second, change)
    assert run(["compare", first, second]) == 1
    out, err = capsys.readouterr()
    assert not out
    assert message in err
    assert "cells/" in err


@pytest.mark.parametrize("side", [0, 1])
def test_nan_is_invalid_on_either_side(
    folder: Folder, capsys: pytest.CaptureFixture[str], side: int
) -> None:
    folders = [folder("a"), folder("b")]
    spoil(folders[side], not_a_number)
    assert run(["compare", *folders, "--format=json"]) == 3
    records = json.loads(capsys.readouterr().out)
    assert "INVALID" in {r["verdict"] for r in records}


def test_what_is_no_run(folder: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench = tmp_path / "bench.json"
    bench.write_text("{}")
    empty = tmp_path / "empty"
    (empty / "cells").mkdir(parents=True)
    results = folder("a")
    for arguments, message in (
        ([results, str(bench)], "one is a results folder, the other is not"),
        ([results, str(empty)], "no cell was measured"),
        ([str(bench), str(bench)], "key model_id"),
        ([str(tmp_path / "x"), str(tmp_path / "y")], "No such file"),
        ([results, results, "--limit", "speedup=5"], "METRIC=SHARE"),
        ([results, results, "--limit", "speedup"], "METRIC=SHARE"),
        ([results], "Missing argument"),
    ):
        assert run(["compare", *arguments]) == 1
        assert message in capsys.readouterr().err
