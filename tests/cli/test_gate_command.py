"""`draftgate gate`: exit codes, formats, and what a stranger's report may do to them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_profile import SMALL_TOML

from draftgate.cli.main import run

JUNIT_EXAMPLES = Path(__file__).parents[1] / "reporting"


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(JUNIT_EXAMPLES))
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SMALL_TOML)


def gate(*cases: str, output: str = "table") -> int:
    from junit_examples import written

    path = written(Path.cwd(), cases)
    return run(["gate", str(path), "--profile", "./small.toml", "--format", output])


def spoiled(verdict: str, message: str) -> list[str]:
    """A whole run whose first cell failed a metric."""
    from junit_examples import MANIFEST, case, failed, green

    cell = next(iter(MANIFEST))
    first = sorted(MANIFEST[cell])[0]
    cases = green()
    return [case(cell, first, verdict, failed(message), ratio="0.93"), *cases[1:]]


def test_a_green_run(capsys: pytest.CaptureFixture[str]) -> None:
    from junit_examples import green

    assert gate(*green()) == 0
    assert capsys.readouterr().out.splitlines() == [
        "PASS: all 8 cells of profile small are judged, none is worse.",
        "verdicts: 52 OK",
    ]


def test_a_loss(capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(*spoiled("REGRESSED", "REGRESSED tiny/none/gsm8k/bs2 identities by 7 %")) == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "REGRESSION: 1 of 8 cells of profile small is worse."
    assert lines[1] == "  worse: REGRESSED tiny/none/gsm8k/bs2 identities by 7 %"


def test_an_incomplete_run(capsys: pytest.CaptureFixture[str]) -> None:
    from junit_examples import green

    assert gate(*green()[1:]) == 3
    out = capsys.readouterr().out
    assert out.startswith("INCOMPLETE: 1 of 8 cells of profile small has no full verdict")
    assert "  incomplete: tiny/none/gsm8k/bs2 no verdict on identities\n" in out


def test_errors_of_the_tool_are_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["gate", "none.xml", "--profile", "./small.toml"]) == 1
    assert run(["gate", "none.xml", "--profile", "./nothing.toml"]) == 1
    assert run(["gate"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "none.xml: no such file" in captured.err


def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert gate(*spoiled("REGRESSED", "REGRESSED by 7 %"), output="json") == 2
    record = json.loads(capsys.readouterr().out)
    assert (record["verdict"], record["exit_code"], record["cells"]) == ("regression", 2, 8)
    assert record["findings"] == [
        {"cell": "tiny/none/gsm8k/bs2", "status": "worse", "text": "REGRESSED by 7 %"}
    ]
    assert len(record["verdicts"]) == 52


def test_markdown_starts_with_the_verdict_and_folds_what_is_fine(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert gate(*spoiled("REGRESSED", "REGRESSED by 7 %"), output="markdown") == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "**REGRESSION: 1 of 8 cells of profile small is worse.**"
    assert lines[4] == "| worse | `tiny/none/gsm8k/bs2` | `REGRESSED by 7 %` |"
    assert any(line.startswith("<details>") for line in lines)
    assert "on `box`" in lines[-1]


def test_a_report_cannot_speak_for_the_project(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "`</sub>@everyone [ok](http://x) | **PASS** <img src=x> \u202e\x85"
    assert gate(*spoiled("REGRESSED", evil), output="markdown") == 2
    [row] = [r for r in capsys.readouterr().out.splitlines() if r.startswith("| worse")]
    assert row.count("`") == 4
    assert row.count(" | ") == 2
    inside = row.split("`")[3]
    assert "@everyone" in inside
    assert "\u202e" not in row


def test_a_report_of_ten_thousand_losses_fits_a_comment(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from junit_examples import case, failed

    cases = [case(f"t/v/w/bs{i}", "speedup", "REGRESSED", failed("x" * 500)) for i in range(10_000)]
    assert gate(*cases, output="markdown") == 2
    text = capsys.readouterr().out
    assert len(text) < 65_536
    assert "more" in text


def test_an_empty_commit_is_no_permission(capsys: pytest.CaptureFixture[str]) -> None:
    """As where CI's variable is not set."""
    from junit_examples import green, written

    path = written(Path.cwd(), green())
    code = run(["gate", str(path), "--profile", "./small.toml", "--commit", ""])
    assert code not in (0, 2, 3)
    assert "--commit" in capsys.readouterr().err
