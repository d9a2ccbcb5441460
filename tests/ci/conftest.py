"""A project with the shipped perf tests, measured by `ci/scripts/measure.sh` with fake engines."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from ci_project import make_project, run_script


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project after both shards were measured by the script; `out/` holds what they left."""
    project = make_project(tmp_path_factory.mktemp("ci"))
    for job in ("0", "1"):
        done = run_script(
            "measure.sh",
            "out",
            cwd=project,
            BUILDKITE_PARALLEL_JOB=job,
            BUILDKITE_PARALLEL_JOB_COUNT="2",
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return project


@pytest.fixture
def measured(recorded: Path, tmp_path: Path) -> Path:
    """A copy of the recorded project, the test's own to spoil."""
    return Path(shutil.copytree(recorded, tmp_path / "project"))


@pytest.fixture
def stub(tmp_path: Path) -> Callable[[str], Path]:
    """Puts a program into a folder for PATH that writes its arguments and input to a file."""

    def make(name: str) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / name
        program.write_text(f'#!/bin/sh\necho "$@" >> {folder}/{name}.log\ncat >> {folder}/in.log\n')
        program.chmod(0o755)
        return folder

    return make
