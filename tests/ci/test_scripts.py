"""The scripts of CI, run for real: measure, judge, record, propose."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from ci_project import make_project, run_script

Stub = Callable[[str], Path]


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=t", "-c", "user.email=t@localhost")
    done = subprocess.run(
        ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture
def repository(measured: Path) -> Path:
    """The project as a checkout of `main`, whose origin is a bare repository beside it."""
    git(measured.parent, "init", "--quiet", "--bare", "origin.git")
    git(measured, "init", "--quiet", "--initial-branch=main")
    git(measured, "add", "small.toml")
    git(measured, "commit", "--quiet", "--message", "first")
    git(measured, "remote", "add", "origin", str(measured.parent / "origin.git"))
    git(measured, "push", "--quiet", "origin", "main")
    return measured


def test_shards_leave_what_the_judge_needs(recorded: Path) -> None:
    out = {path.name for path in (recorded / "out").iterdir()}
    assert out == {
        *("junit-shard-1-of-2.xml", "junit-shard-2-of-2.xml"),
        *("results-shard-1-of-2", "results-shard-2-of-2"),
    }


@pytest.fixture
def judged(measured: Path) -> Path:
    """The project as if its baselines were there and equal."""
    for junit in (measured / "out").glob("junit-*.xml"):
        junit.write_text(junit.read_text().replace('value="UNBASELINED"', 'value="OK"'))
    return measured


def test_without_baselines_nothing_is_proven(measured: Path) -> None:
    done = run_script("judge.sh", "out", cwd=measured)
    assert done.returncode == 3
    assert "has no baseline, so nothing guards it" in done.stdout


def test_a_whole_run_is_judged_and_summarised(judged: Path) -> None:
    summary = judged / "summary.md"
    done = run_script("judge.sh", "out", cwd=judged, GITHUB_STEP_SUMMARY=str(summary))
    assert done.returncode == 0, done.stdout + done.stderr
    report = (judged / "out" / "report.md").read_text()
    assert report.startswith("**PASS: all 8 cells of profile small are judged, none is worse.")
    assert summary.read_text() == report == done.stdout


def test_a_run_of_another_commit_is_incomplete(repository: Path) -> None:
    done = run_script("judge.sh", "out", cwd=repository, DRAFTGATE_COMMIT=None)
    assert done.returncode == 3
    head = git(repository, "rev-parse", "HEAD").strip()
    assert f"was measured on commit unknown, not on {head}" in done.stdout
    anywhere = run_script("judge.sh", "out", cwd=repository)
    assert "was measured on commit" not in anywhere.stdout


def test_a_checkout_that_git_does_not_know_is_a_tool_error(measured: Path) -> None:
    """Else any run of any commit would do."""
    done = run_script("judge.sh", "out", cwd=measured, DRAFTGATE_COMMIT=None)
    assert done.returncode == 1
    assert "set DRAFTGATE_COMMIT" in done.stderr


def test_a_missing_shard_is_incomplete(measured: Path) -> None:
    done = run_script("judge.sh", "out", "out/junit-shard-1-of-2.xml", cwd=measured)
    assert done.returncode == 3
    assert done.stdout.startswith("**INCOMPLETE: ")
    assert "shard 2/2 is missing" in done.stdout


def spoil(junit: Path, old: str, new: str) -> None:
    text = junit.read_text()
    assert old in text
    junit.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "code", "style"),
    [
        ('value="OK"', 'value="OK"', 0, "success"),
        ("</testsuites>", "", 1, "error"),
        ('value="OK"', 'value="REGRESSED"', 2, "error"),
        ("<testcase", "<wastestcase", 1, "error"),
        ('value="speedup"', 'value="slowdown"', 3, "warning"),
    ],
)
def test_every_exit_code_becomes_an_annotation(
    judged: Path, stub: Stub, old: str, new: str, code: int, style: str
) -> None:
    spoil(judged / "out" / "junit-shard-1-of-2.xml", old, new)
    path = f"{stub('buildkite-agent')}{os.pathsep}{os.environ['PATH']}"
    done = run_script("judge.sh", "out", cwd=judged, BUILDKITE="true", PATH=path)
    assert done.returncode == code, done.stdout + done.stderr
    folder = stub("buildkite-agent")
    said = (folder / "buildkite-agent.log").read_text()
    assert said == f"annotate --context perf-./small.toml --style {style}\n"
    assert (folder / "in.log").read_text() == (judged / "out" / "report.md").read_text()
    assert code != 1 or "TOOL ERROR" in done.stdout


def test_nothing_measured_is_a_tool_error(tmp_path: Path) -> None:
    done = run_script("judge.sh", "out", cwd=tmp_path)
    assert done.returncode == 1
    assert "nothing was measured" in done.stderr
    assert "TOOL ERROR" in (tmp_path / "out" / "report.md").read_text()


def test_a_run_that_could_not_begin_is_no_measurement(tmp_path: Path) -> None:
    done = run_script("measure.sh", "out", cwd=make_project(tmp_path), SHARD="9/2")
    assert done.returncode == 1
    assert "pytest ended with exit code 4" in done.stderr


@pytest.mark.parametrize("script", ["measure.sh", "judge.sh", "propose_baselines.sh"])
def test_a_profile_must_be_named(tmp_path: Path, script: str) -> None:
    done = run_script(script, "out", cwd=tmp_path, DRAFTGATE_PROFILE="")
    assert done.returncode != 0
    assert "set DRAFTGATE_PROFILE" in done.stderr


def test_the_history_grows_on_a_branch_of_its_own(repository: Path) -> None:
    for shard, lines in (("1", None), ("2", None), ("2", 0)):
        results = f"out/results-shard-{shard}-of-2"
        done = run_script("record_history.sh", results, cwd=repository)
        assert done.returncode == 0, done.stdout + done.stderr
        if lines == 0:
            assert "0 lines added" in done.stderr
    origin = repository.parent / "origin.git"
    assert git(origin, "ls-tree", "--name-only", "perf-history").split() == ["history.jsonl"]
    assert len(git(origin, "log", "--oneline", "perf-history").splitlines()) == 2
    lines_there = git(origin, "show", "perf-history:history.jsonl").splitlines()
    assert {json.loads(line)["cell"] for line in lines_there} >= {"tiny/none/gsm8k/bs2"}
    assert git(repository, "branch", "--show-current").strip() == "main"
    assert "no change" in done.stdout
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_baselines_are_proposed_as_a_pull_request(
    repository: Path, stub: Stub, tmp_path: Path
) -> None:
    shipped = Path(__file__).parents[2] / "baselines"
    fresh = Path(shutil.copytree(shipped, tmp_path / "fresh"))
    path = f"{stub('gh')}{os.pathsep}{os.environ['PATH']}"
    env = {"PATH": path, "DRAFTGATE_PROFILE": "cpu", "REASON": "new `runner`"}
    done = run_script("propose_baselines.sh", str(fresh), cwd=repository, **env)
    assert done.returncode == 0, done.stdout + done.stderr
    said = (stub("gh") / "gh.log").read_text()
    assert said.startswith("pr create --base main --head baselines/cpu-")
    branch = said.split()[said.split().index("--head") + 1]
    files = git(repository.parent / "origin.git", "ls-tree", "-r", "--name-only", branch)
    assert "baselines/portable/x86-avx2-fp32/llama-tiny/none.json" in files.split()
    assert "baselines" not in git(repository.parent / "origin.git", "ls-tree", "main")


def test_what_was_refused_stands_in_the_pull_request(
    repository: Path, stub: Stub, tmp_path: Path
) -> None:
    fresh = Path(shutil.copytree(Path(__file__).parents[2] / "baselines", tmp_path / "fresh"))
    refused = tmp_path / "refused.txt"
    refused.write_text("baseline not written: a/b/c/bs1 (box): too noisy\n")
    path = f"{stub('gh')}{os.pathsep}{os.environ['PATH']}"
    env = {"PATH": path, "DRAFTGATE_PROFILE": "cpu", "REFUSED": str(refused)}
    assert run_script("propose_baselines.sh", str(fresh), cwd=repository, **env).returncode == 0
    # All refused the next time: nothing changed, and that is not what was asked for.
    done = run_script("propose_baselines.sh", str(fresh), cwd=repository, **env)
    assert done.returncode == 1
    assert "a/b/c/bs1 (box): too noisy" in done.stderr


def test_nothing_new_is_not_proposed(repository: Path, stub: Stub, tmp_path: Path) -> None:
    shipped = Path(__file__).parents[2] / "baselines"
    shutil.copytree(shipped, repository / "baselines")
    git(repository, "add", "baselines")
    git(repository, "commit", "--quiet", "--message", "baselines")
    path = f"{stub('gh')}{os.pathsep}{os.environ['PATH']}"
    done = run_script(
        "propose_baselines.sh", str(shipped), cwd=repository, PATH=path, DRAFTGATE_PROFILE="cpu"
    )
    assert done.returncode == 0, done.stderr
    assert "nothing to propose" in done.stderr
    assert not (stub("gh") / "gh.log").exists()
