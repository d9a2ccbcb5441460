"""`draftgate gate` over the JUnit that perf runs really write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fake_engines import FakeEngines, died
from small_project import Run

from draftgate.cli.main import run as draftgate

Gate = Callable[..., int]


@pytest.fixture
def gate(run: Run, project: Path, baselined: Path) -> Gate:
    """Run perf tests with the given arguments against the baselines; the gate's exit code."""

    def judge(*arguments: str, files: int = 0) -> int:
        run(f"--junitxml=junit-{files}.xml", *arguments)
        names = [f"junit-{i}.xml" for i in range(files + 1)]
        return draftgate(["gate", *names, "--profile", "./small.toml"])

    return judge


def test_a_whole_run_passes(gate: Gate) -> None:
    """So the perf tests judge all that the manifest wants."""
    assert gate() == 0


def test_a_loss_is_2(gate: Gate, engines: FakeEngines) -> None:
    engines["tiny/ngram-k3"].accepts = (1, 0)
    assert gate() == 2


def test_a_dead_engine_is_3(
    gate: Gate, engines: FakeEngines, capsys: pytest.CaptureFixture[str]
) -> None:
    engines["other/ngram-k3"].fails_at = {0: died("other/ngram-k3", "start-up")}
    assert gate() == 3
    assert "1 of 8 cells" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ("-k", "gsm8k or sharegpt"),
        ("-m", "not perf"),
        ("--deselect=perf_tests/test_outputs.py::test_identities[other-none-sharegpt-bs2]",),
        ("--ignore=perf_tests/test_acceptance.py",),
        ("--update-baselines",),
        ("--shard=1/2",),
        ("--collect-only",),
    ],
)
def test_a_part_of_a_run_is_3(gate: Gate, arguments: tuple[str, ...]) -> None:
    assert gate(*arguments) == 3


def test_a_skipped_cell_is_3(gate: Gate, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "perf_tests" / "conftest.py").write_text(
        "import pytest\n"
        "def pytest_runtest_setup(item):\n"
        "    if 'other-none' in item.name:\n"
        "        pytest.skip('not today')\n"
    )
    assert gate() == 3
    out = capsys.readouterr().out
    assert "other/none/sharegpt/bs2 test_identities[other-none-sharegpt-bs2] was skipped" in out
    assert "not today" in out


def test_a_run_of_a_changed_profile_is_3(gate: Gate, project: Path) -> None:
    assert gate() == 0
    profile = project / "small.toml"
    profile.write_text(profile.read_text().replace("speedup = 0.10", "speedup = 0.90"))
    assert draftgate(["gate", "junit-0.xml", "--profile", "./small.toml"]) == 3


def test_shards_together_are_a_run(gate: Gate) -> None:
    assert gate("--shard=1/2") == 3
    assert gate("--shard=2/2", files=1) == 0
