"""Runs of the shipped perf tests on a small profile, with fake engines, inside pytester.

The rooms, and what plugins need, are imported here: pytester forgets what an inner run imports
first, importing it anew takes seconds a run, and neither numpy nor datasets can be imported twice.
"""

from __future__ import annotations

import json
import shutil
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets  # noqa: F401
import hypothesis  # noqa: F401
import pytest
import rich.console  # noqa: F401
import scipy.special  # noqa: F401
from fake_engines import FakeEngines
from small_project import ISA_FOLDER, PROFILE, Run

import draftgate.plugin.build
import draftgate.plugin.summary
import draftgate.testbed.corpus

PERF_TESTS = Path(__file__).parents[2] / "perf_tests"


@pytest.fixture(autouse=True)
def _outside_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("DRAFTGATE_PROFILE", raising=False)


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> FakeEngines:
    """The engines of every inner run of this test."""
    fakes = FakeEngines()
    monkeypatch.setattr(draftgate.plugin.build, "host_factory", fakes.host_factory)
    return fakes


@pytest.fixture
def project(pytester: pytest.Pytester) -> Path:
    """A folder with the shipped perf tests and the profile `small.toml`; the working directory."""
    shutil.copytree(
        PERF_TESTS, pytester.path / "perf_tests", ignore=shutil.ignore_patterns("__pycache__")
    )
    (pytester.path / "small.toml").write_text(PROFILE)
    return pytester.path


@pytest.fixture
def run(pytester: pytest.Pytester, project: Path, engines: FakeEngines) -> Run:
    """Run perf tests with the given arguments; ``-k`` and the like select among them.

    The results of the n-th run of a test lie in ``results/n``, unless it gives a folder.
    """
    count = 0

    def perf(*arguments: str) -> pytest.RunResult:
        nonlocal count
        count += 1
        given = any(argument.startswith("--perf-json") for argument in arguments)
        folder = () if given else (f"--perf-json=results/{count}",)
        return pytester.runpytest_inprocess(
            *("-p", "no:cacheprovider", "perf_tests", "--profile=./small.toml"),
            *(*folder, *arguments),
            no_reraise_ctrlc=True,
        )

    return perf


@pytest.fixture(scope="session")
def another_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a virtual environment with a vLLM of its own, and this one's other packages.

    The vLLM is a name only: the engines are fakes.
    """
    python, packages = environment(tmp_path_factory.mktemp("another"))
    (packages / "vllm").mkdir()
    (packages / "vllm" / "__init__.py").touch()
    return python


@pytest.fixture(scope="session")
def borrowing_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a virtual environment of its own, whose vLLM is this one's."""
    return environment(tmp_path_factory.mktemp("borrowing"))[0]


def environment(folder: Path) -> tuple[Path, Path]:
    """Python and packages of a virtual environment that borrows this one's packages."""
    this = Path(sysconfig.get_path("purelib"))
    shutil.copy(Path(sys.prefix) / "pyvenv.cfg", folder)
    packages = folder / this.relative_to(sys.prefix)
    packages.mkdir(parents=True)
    (packages / "borrowed.pth").write_text(f"{this}\n")
    (folder / "bin").mkdir()
    python = folder / "bin" / "python"
    python.symlink_to(Path(sys.executable).resolve())
    return python, packages


@pytest.fixture
def load(project: Path) -> Callable[[str], Any]:
    """Reads a JSON file of the project."""
    return lambda path: json.loads((project / path).read_text())


@pytest.fixture
def baselined(run: Run) -> Path:
    """The folder of portable baselines, of all cells; timed ones are there too. Takes run 1."""
    assert run("--update-baselines").ret == 0
    return Path(ISA_FOLDER).resolve()
