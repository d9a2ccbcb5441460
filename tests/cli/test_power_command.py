"""`draftgate power`: records, options and refusals; its numbers are tested in tests/verdict."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fake_engines import Script
from recorded_cell import measurement

from draftgate.cli.main import run
from draftgate.reporting.results_folder import ResultsFolder

KEYS = ["fault", "size", "gates", "red", "rate", "ci_low", "ci_high", "cause_right"]


def records(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, object]]:
    assert run(["power", "--profile=cpu", "--format=json", *arguments]) == 0
    found = json.loads(capsys.readouterr().out)
    assert all(list(record) == KEYS for record in found)
    return found


def test_equal_engines_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    [record] = records(capsys, "--gates=20")
    assert (record["fault"], record["gates"], record["cause_right"]) == ("none", 20, None)


def test_a_record_a_size(capsys: pytest.CaptureFixture[str]) -> None:
    found = records(
        capsys, "--gates=10", "--fault=sleep", "--size=0.001,0.5", "--limit=0.03", "--hit=2"
    )
    assert [record["size"] for record in found] == [0.001, 0.5]
    assert (found[0]["red"], found[1]["red"]) == (0, 10)
    assert found[1]["cause_right"] == 1.0


def test_the_table_says_what_was_assumed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["power", "--profile=cpu", "--gates=5", "--no-reference"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0].split() == KEYS
    assert "48 comparisons of speed, judged as 126 noisy ones are" in out
    assert "no reference, rules reckon with session_sd = 0.15" in out
    assert "start 0.5 %, round 1.4 %" in out


def test_acceptance_that_is_not_exact_is_not_simulated(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["power", "--profile=h100-gate", "--gates=2", "--fault=acceptance"]) == 1
    assert "tolerates acceptance that moves" in capsys.readouterr().err


def test_noise_is_fitted_to_recorded_sessions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cell = "t/ngram-k3/gsm8k/bs2"
    for name, slower in (("a", 1.0), ("b", 1.2)):
        folder = ResultsFolder.create(tmp_path / name)
        folder.write_cell(measurement(cell, Script(slower=slower)))
    both = [f"--noise={tmp_path / name}" for name in ("a", "b")]
    assert run(["power", "--profile=cpu", "--gates=2", *both]) == 0
    out = capsys.readouterr().out
    assert "start 9.1 %" in out
    assert "start_sd = 0.09" in out  # what the profile should state
    assert run(["power", "--profile=cpu", "--gates=2", both[0]]) == 1
    assert "two sessions" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fault=melt"], "none, sleep, acceptance"),
        (["--fault=sleep", "--size=much"], "--size"),
        (["--fault=sleep", "--size=0"], "positive --size"),
        (["--fault=acceptance", "--size=0.5"], "whole tokens"),
        (["--gates=0"], "--gates"),
        (["--profile=unknown"], "unknown"),
        (["--noise=nowhere"], "no results folder"),
    ],
)
def test_bad_arguments_exit_1(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["power", "--profile=cpu", *arguments]) == 1
    out, err = capsys.readouterr()
    assert not out
    assert message in err


def test_help_names_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["power", "--help"]) == 0
    out = capsys.readouterr().out
    for option in ("--profile", "--gates", "--fault", "--size", "--noise", "--format"):
        assert option in out
