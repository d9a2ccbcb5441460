"""``--perf-require-baseline``: whether a metric without a baseline fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from outcome import failures, first_lines
from small_project import PROFILE, Run

ONE_CELL = ("-k", "tiny-ngram-k3-gsm8k")


def test_unbaselined_passes_loudly_with_the_command_that_mends_it(
    run: Run, load: Callable[[str], Any]
) -> None:
    result = run(*ONE_CELL)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "tiny/ngram-k3/gsm8k/bs2 * UNBASELINED",
            "UNBASELINED: 1 cells have no baseline *pytest perf_tests --profile ./small.toml "
            "--baseline-dir baselines --update-baselines=new",
        ]
    )
    kinds = {v["metric"]: v["verdict"] for v in load("results/1/verdicts.json")}
    assert kinds.pop("outputs_equal_control") == "OK"  # the control is its baseline
    assert kinds.pop("identities") == "OK"
    assert kinds.pop("kv_bytes_per_token") == "OK"  # the configs are its baseline
    assert set(kinds.values()) == {"UNBASELINED"}


def test_the_option_makes_it_fail(run: Run) -> None:
    result = run("--perf-require-baseline", *ONE_CELL)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    lines = first_lines(result)
    line = lines["test_speedup[tiny-ngram-k3-gsm8k-bs2]"]
    assert line.startswith("UNBASELINED tiny/ngram-k3/gsm8k/bs2 speedup 2.0")
    assert "create one with --update-baselines=new" in line
    assert not [test for test in lines if "equal_control" in test or "identities" in test]


@pytest.mark.parametrize(
    ("ci", "fingerprint", "fails"),
    [
        ("1", True, True),
        ("true", True, True),
        ("false", True, False),
        ("0", True, False),
        ("", True, False),
        ("1", False, False),
    ],
)
def test_ci_requires_it_of_profiles_that_declare_their_hardware(
    run: Run,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    ci: str,
    fingerprint: bool,
    fails: bool,
) -> None:
    monkeypatch.setenv("CI", ci)
    if fingerprint:
        (project / "small.toml").write_text('fingerprint = "box"\n' + PROFILE)
    result = run(*ONE_CELL)
    assert bool(failures(result)) == fails
