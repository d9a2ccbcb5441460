"""``--prune-baselines``: orphans go, after a full run that passed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from fake_engines import FakeEngines
from small_project import Run


@pytest.fixture
def shrunk(project: Path, baselined: Path) -> Path:
    """Baselines of all cells, and a profile that has lost its second target."""
    profile = project / "small.toml"
    text = profile.read_text()
    profile.write_text(text[: text.rindex("[[targets]]")])
    (project / "profiles").mkdir()
    shutil.copy(profile, project / "profiles")
    return baselined


def stored(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*.json")}


def test_a_full_run_deletes_what_no_profile_has(run: Run, shrunk: Path) -> None:
    result = run("--prune-baselines")
    assert result.ret == 0
    assert stored(shrunk) == {f"tiny/{name}.json" for name in ("none", "ngram-k3", "ngram-k2")}
    result.stdout.fnmatch_lines(["baselines deleted, which no profile has: other/*"])


def test_without_the_option_nothing_goes(run: Run, shrunk: Path) -> None:
    assert run().ret == 0
    assert "other/none.json" in stored(shrunk)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-k", "tiny"), "the run selected among the cells"),
        (("--shard=1/2",), "the run selected among the cells"),
        (("-k", "not none"), "the run selected among the cells"),
    ],
)
def test_a_part_of_a_run_may_not(
    run: Run, shrunk: Path, arguments: tuple[str, ...], said: str
) -> None:
    result = run("--prune-baselines", *arguments)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([f"no baseline was pruned: {said}*"])
    assert "other/none.json" in stored(shrunk)


def test_a_run_that_fails_may_not(run: Run, shrunk: Path, engines: FakeEngines) -> None:
    engines["tiny/ngram-k3"].accepts = (1, 0)
    result = run("--prune-baselines")
    result.stdout.fnmatch_lines(["no baseline was pruned: the run did not pass"])
    assert "other/none.json" in stored(shrunk)


def test_cells_of_another_known_profile_are_no_orphans(
    run: Run, shrunk: Path, project: Path
) -> None:
    whole = (Path(__file__).parents[1] / "small.toml").read_text()
    (project / "profiles" / "whole.toml").write_text(whole)
    assert run("--prune-baselines").ret == 0
    assert "other/none.json" in stored(shrunk)


def test_ci_does_not_prune_its_own_repository(
    run: Run, shrunk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    run("--prune-baselines").stdout.fnmatch_lines(["no baseline was pruned: CI does not write*"])
    assert "other/none.json" in stored(shrunk)


def test_a_profile_outside_the_known_ones_may_not(run: Run, project: Path, shrunk: Path) -> None:
    """Another profile of its kind may own what looks like an orphan."""
    shutil.rmtree(project / "profiles")
    result = run("--prune-baselines")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["no baseline was pruned: profile 'small' does not lie under *"])
    assert "other/none.json" in stored(shrunk)
