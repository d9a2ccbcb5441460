"""``baseline_series``: two profiles that share names of cells, and no prompts, in one folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from small_project import PROFILE, Run

SERIES = 'baseline_series = "fewer"\n'


@pytest.fixture
def other(project: Path, baselined: Path) -> Path:
    """The folder of baselines of a profile, and now another profile with prompts of its own."""
    fewer = PROFILE.replace("prompts = 3", "prompts = 2", 1)
    (project / "small.toml").write_text(fewer.replace("\nworkloads", f"\n{SERIES}workloads", 1))
    return project / "baselines"


def test_each_keeps_its_own_baselines(run: Run, other: Path) -> None:
    before = {path: path.read_bytes() for path in other.rglob("*.json")}
    assert "UNBASELINED" in run("-k", "tiny").stdout.str()
    assert run("--update-baselines=new").ret == 0
    result = run("--perf-require-baseline")
    assert result.ret == 0
    assert "STALE" not in result.stdout.str()
    assert {path: path.read_bytes() for path in other.rglob("*.json") if path in before} == before


def test_pruning_one_leaves_the_other(run: Run, other: Path, project: Path) -> None:
    assert run("--update-baselines=new").ret == 0
    (project / "profiles").mkdir()
    (project / "profiles" / "whole.toml").write_text(PROFILE)
    text = (project / "small.toml").read_text()
    (project / "small.toml").write_text(text[: text.rindex("[[targets]]")])
    shutil.copy(project / "small.toml", project / "profiles")
    result = run("--prune-baselines")
    assert result.ret == 0
    stored = {str(path.relative_to(other)) for path in other.rglob("*.json")}
    assert {name.split("/")[1] for name in stored if "/other/" in name} == {"x86-avx2-fp32"}
    result.stdout.fnmatch_lines(["baselines deleted, which no profile has: other/*+fewer*"])
