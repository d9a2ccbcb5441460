"""`draftgate baselines ...`: records on stdout, and exit codes a script can use."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from draftgate.cli.main import run

SHIPPED = Path(__file__).parents[2] / "baselines"
FILE = "portable/x86-avx2-fp32/llama-tiny/eagle3-k3.json"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SHIPPED, tmp_path / "baselines"))


def printed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    records = json.loads(capsys.readouterr().out)
    assert isinstance(records, list)
    return records


def test_show(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["baselines", "show", str(folder), "-k", "eagle3", "--format", "json"]) == 0
    records = printed(capsys)
    assert records
    assert all("eagle3" in record["cell"] for record in records)
    assert run(["baselines", "show", str(folder), "--machine", "none", "--format", "csv"]) == 0
    assert capsys.readouterr().out.count("\n") == 1


def test_diff(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    (other / FILE).unlink()
    assert run(["baselines", "diff", str(folder), str(other), "--format", "json"]) == 0
    records = printed(capsys)
    assert {record["change"] for record in records} == {"removed"}
    assert {record["new"] for record in records} == {None}
    assert run(["baselines", "diff", str(folder), str(folder)]) == 0


def test_check_of_the_shipped_baselines(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["baselines", "check", str(folder), "--profile", "cpu", "--format", "json"]) == 0
    assert all(record["level"] == "warning" for record in printed(capsys))


def test_check_fails_on_damage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / FILE).write_text(f"<<<<<<< HEAD\n{(folder / FILE).read_text()}")
    assert run(["baselines", "check", str(folder), "--profile", "cpu", "--format", "json"]) == 2
    first = printed(capsys)[0]
    assert (first["level"], Path(first["file"]).name) == ("error", "eagle3-k3.json")
    assert run(["baselines", "show", str(folder)]) == 1
    assert "merge conflict in line 1" in capsys.readouterr().err


def test_without_timed_baselines_there_is_nothing_to_anchor(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in folder.iterdir():
        if path.name != "portable":
            shutil.rmtree(path)
    assert run(["baselines", "anchor", "v0.1.0", "--baseline-dir", str(folder)]) == 1
    assert "no timed baseline; machines with timed baselines: none" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["show", "none"], ["check", "none"], ["diff", "none", "none"]])
def test_no_folder(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["baselines", *words]) == 1
    assert list(tmp_path.iterdir()) == []
