"""`draftgate` as a shell sees it: output, messages, exit codes, start-up."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from draftgate.cli.main import run
from draftgate.profile import load_profile

KEYS = ["cell", "scenario", "arm", "workload", "batch_size", "prompts", "estimated_s"]
Captured = pytest.CaptureFixture[str]


def test_json_is_flat_records_alone_on_stdout(capsys: Captured) -> None:
    assert run(["plan", "--profile", "cpu", "--format", "json"]) == 0
    captured = capsys.readouterr()
    records = json.loads(captured.out)
    assert [record["cell"] for record in records] == [c.id for c in load_profile("cpu").cells()]
    assert all(list(record) == KEYS for record in records)
    first = {**records[0], "estimated_s": None}
    assert first == {
        "cell": "llama-tiny/none/instructcoder/bs1",
        "scenario": "llama-tiny/none",
        "arm": "control",
        "workload": "instructcoder",
        "batch_size": 1,
        "prompts": 1,
        "estimated_s": None,
    }
    assert "cells 63, engine starts 7, estimated time" in captured.err


def test_csv_holds_the_same_records(capsys: Captured) -> None:
    run(["plan", "--profile", "cpu", "--format", "json"])
    records = json.loads(capsys.readouterr().out)
    assert run(["plan", "--profile", "cpu", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert rows == [{key: str(value) for key, value in record.items()} for record in records]


def test_table_ends_with_the_totals(capsys: Captured) -> None:
    assert run(["plan", "--profile", "cpu"]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[0].split() == KEYS
    assert len(lines) == 2 + 63 + 1
    assert lines[-1].startswith("cells 63, engine starts 7, estimated time ")
    assert captured.err == ""


def test_keyword_selects_cells_and_counts_their_controls(capsys: Captured) -> None:
    assert run(["plan", "--profile", "cpu", "-k", "EAGLE3-k3", "--format", "json"]) == 0
    captured = capsys.readouterr()
    records = json.loads(captured.out)
    assert {record["scenario"] for record in records} == {"llama-tiny/eagle3-k3"}
    assert len(records) == 9
    assert captured.err.startswith("cells 18 (with 9 more of their controls), engine starts 2,")


def test_shards_together_are_the_plan(capsys: Captured) -> None:
    cells = []
    for i in (1, 2, 3):
        words = ["plan", "--profile", "cpu", "--format", "json", "--shard", f"{i}/3"]
        assert run(words) == 0
        cells += [record["cell"] for record in json.loads(capsys.readouterr().out)]
    assert sorted(cells) == sorted(cell.id for cell in load_profile("cpu").cells())
    assert run(["plan", "--profile", "cpu", "--shard", "3/2"]) == 1
    assert "--shard '3/2': write i/n" in capsys.readouterr().err


def test_keyword_also_matches_the_pytest_id(capsys: Captured) -> None:
    assert run(["plan", "--profile", "cpu", "-k", "mtp-k3-gsm8k-bs1", "--format", "json"]) == 0
    cells = [record["cell"] for record in json.loads(capsys.readouterr().out)]
    assert cells == ["glm-tiny/mtp-k3/gsm8k/bs1", "glm-tiny/mtp-k3/gsm8k/bs16"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plan", "--profile", "cpuu"], ["no such profile", "did you mean 'cpu'"]),
        (["plan", "--profile", "cpu", "-k", "nothing"], ["no cell of profile 'cpu'", "-k"]),
        (["plan", "--format", "xml"], ["xml", "plan --help"]),
        (["plan", "--profil", "cpu"], ["No such option", "--profil"]),
        (["plna"], ["plna", "--help"]),
    ],
)
def test_tool_errors_go_to_stderr_with_exit_1(
    arguments: list[str], words: list[str], capsys: Captured
) -> None:
    assert run(arguments) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("draftgate: ")
    assert all(word in captured.err for word in words), captured.err


def test_broken_profile_names_file_and_key(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "broken.toml"
    path.write_text("schema_version = 1\nname = 'x'\nsede = 1\n")
    assert run(["plan", "--profile", str(path)]) == 1
    assert f"draftgate: {path}: sede: unknown key" in capsys.readouterr().err


def test_what_is_not_on_this_machine_is_said(tmp_path: Path, capsys: Captured) -> None:
    """Not an error: a plan may be for another machine."""
    profile = tmp_path / "mine.toml"
    text = (Path(__file__).parents[2] / "profiles" / "cpu.toml").read_text()
    text = text.replace('"testbed:llama-tiny-eagle3"', '"/nowhere/head"')
    profile.write_text(
        text.replace(
            'name = "gpqa", source = "mini"', 'name = "gpqa", source = "file", path = "my"'
        )
    )
    assert run(["plan", "--profile", str(profile)]) == 0
    said = capsys.readouterr().err.splitlines()
    assert any("llama-tiny/eagle3-k3: " in line and "/nowhere/head" in line for line in said)
    assert "draftgate: not on this machine: workload gpqa: path = 'my'" in said
    assert len(said) == 2


def test_version_and_help(capsys: Captured) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("draftgate ")
    assert run([]) == 0
    assert "Examples:" in capsys.readouterr().out
    assert run(["plan", "--help"]) == 0
    assert "draftgate plan --profile cpu-full -k eagle3" in capsys.readouterr().out


def test_a_reader_that_leaves_early_is_no_error() -> None:
    command = (
        f"{sys.executable} -m draftgate.cli.main plan --profile cpu-full --format csv | head -1"
    )
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=_root())
    assert done.stdout == ",".join(KEYS) + "\n"
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


def test_plan_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from draftgate.cli.main import run\n"
        "run(['plan', '--profile', 'cpu', '--format', 'csv'])\n"
        "heavy = {'torch', 'vllm', 'transformers', 'datasets', 'scipy', 'numpy', 'pytest'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=_root(), check=True, capture_output=True, text=True
    )
    assert done.stderr.splitlines()[-1] == "[]"


def _root() -> Path:
    return Path(__file__).resolve().parents[2]
