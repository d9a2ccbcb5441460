"""``--profile``: which cells are collected, and what a bad one says."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_engines import FakeEngines
from small_project import PROFILE, Run

TIMED = ["tiny-none-gsm8k-bs2", "tiny-ngram-k3-gsm8k-bs2", "tiny-ngram-k2-gsm8k-bs2"]
UNTIMED = [
    "tiny-none-sharegpt-bs2",
    "tiny-ngram-k3-sharegpt-bs2",
    "tiny-ngram-k2-sharegpt-bs2",
    "other-none-sharegpt-bs2",
    "other-ngram-k3-sharegpt-bs2",
]


def collected(result: pytest.RunResult) -> list[str]:
    assert result.ret == 0
    return [line for line in result.outlines if "::" in line]


def cells_in_order(result: pytest.RunResult) -> list[str]:
    ids = [line.rpartition("[")[2].rstrip("]") for line in collected(result)]
    return [cell for i, cell in enumerate(ids) if i == 0 or ids[i - 1] != cell]


def test_a_path(run: Run) -> None:
    assert cells_in_order(run("--collect-only", "-q")) == TIMED + UNTIMED


def test_a_name_in_the_folder_profiles(run: Run, project: Path) -> None:
    (project / "profiles").mkdir()
    (project / "profiles" / "mine.toml").write_text(PROFILE.replace('"small"', '"mine"'))
    assert cells_in_order(run("--collect-only", "-q", "--profile=mine")) == TIMED + UNTIMED


def test_auto_is_the_one_of_the_environment(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAFTGATE_PROFILE", "./small.toml")
    assert cells_in_order(run("--collect-only", "-q", "--profile=auto")) == TIMED + UNTIMED


@pytest.mark.parametrize(("pattern", "told"), [("h100-*", True), ("*", False)])
def test_a_profile_for_other_hardware_is_told_at_once(
    run: Run, project: Path, pattern: str, told: bool
) -> None:
    (project / "small.toml").write_text(f'fingerprint = "{pattern}"\n{PROFILE}')
    result = run("-k", "other-none")
    assert result.ret == 0
    assert ("is for h100-*, this machine is " in result.stdout.str()) is told


def test_where_not_all_engines_are_resident_an_engines_cells_come_together(
    run: Run, project: Path
) -> None:
    (project / "small.toml").write_text(PROFILE + "\n[plan]\nresident = 2\n")
    cells = cells_in_order(run("--collect-only", "-q"))
    scenarios = [cell.rpartition("-bs2")[0].rpartition("-")[0] for cell in cells]
    assert len(scenarios) == len(TIMED + UNTIMED)
    assert [s for i, s in enumerate(scenarios) if i == 0 or scenarios[i - 1] != s] == [
        "tiny-none",
        "tiny-ngram-k3",
        "tiny-ngram-k2",
        "other-none",
        "other-ngram-k3",
    ]


@pytest.mark.parametrize("option", ["--collect-only", "--help"])
def test_looking_starts_nothing(run: Run, project: Path, engines: FakeEngines, option: str) -> None:
    result = run(option)
    assert result.ret == 0
    assert not engines.hosts
    assert not (project / "results").exists()


def test_the_options_are_in_the_help(run: Run) -> None:
    text = run("--help").stdout.str()
    for option in (
        "--profile=auto|NAME|PATH",
        "--update-baselines",
        "--accept-regression=REASON",
        "--baseline-dir=DIR",
        "--perf-json=DIR",
        "--perf-require-baseline",
    ):
        assert option in text


BAD = {
    "unknown key": ("[limits]", "[limit]", "limit", "allowed"),
    "unknown limit": ("speedup = 0.10", "speed_up = 0.10", "limits.speed_up", "allowed"),
    "unknown workload": ('name = "gsm8k"', 'name = "gsm9k"', "gsm9k", "allowed"),
    "k=0": ("num_speculative_tokens = 3", "num_speculative_tokens = 0", "ngram-k3", "remedy"),
    "no control": ('{ name = "none" },', "", "variants", "none"),
    "newer": ("schema_version = 1", "schema_version = 2", "schema_version", "update draftgate"),
    "not TOML": ("[limits]", "[limits", "not valid TOML", "remedy"),
}


@pytest.mark.parametrize("fault", BAD)
@pytest.mark.parametrize("option", ["-q", "--collect-only"])
def test_a_bad_profile_is_one_usage_error_before_anything_starts(
    run: Run, project: Path, engines: FakeEngines, fault: str, option: str
) -> None:
    old, new, *said = BAD[fault]
    assert old in PROFILE
    (project / "small.toml").write_text(PROFILE.replace(old, new, 1))
    result = run(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    text = result.stderr.str()
    assert text.startswith("ERROR: small.toml")
    assert text.count("ERROR") == 1
    for part in said:
        assert part in text
    assert "Traceback" not in text + result.stdout.str()
    assert not engines.hosts
    assert not (project / "results").exists()


def test_a_bad_profile_is_nobodys_business_where_nothing_is_measured(
    run: Run, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile("def test_mine():\n    pass\n")
    run("--profile=nothing", "-k", "test_mine", ".").assert_outcomes(passed=1, deselected=18)


@pytest.mark.parametrize("wanted", ["cpv", "./none.toml"])
def test_an_unknown_profile_names_the_known_ones(
    run: Run, engines: FakeEngines, wanted: str
) -> None:
    result = run(f"--profile={wanted}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*no such profile*", "*cpu-full*", "*remedy*--profile*"])
    assert not engines.hosts
