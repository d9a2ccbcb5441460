"""Projects for the scripts of CI, and how CI runs them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from small_profile import SMALL_TOML

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "ci" / "scripts"

FAKE_ENGINES = """\
import draftgate.plugin.build
from fake_engines import FakeEngines

draftgate.plugin.build.host_factory = FakeEngines().host_factory
"""


def environment(**changes: str) -> dict[str, str]:
    """Of a CI job that knows nothing of the one that runs these tests."""
    ours = ("GITHUB_", "BUILDKITE", "CI", "DRAFTGATE_", "SHARD")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    known = {"PYTHON": sys.executable, "PYTHONPATH": path, "DRAFTGATE_PROFILE": "./small.toml"}
    return {**kept, **known, **changes}


def run_script(
    name: str, *arguments: str, cwd: Path, DRAFTGATE_COMMIT: str | None = "", **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a script of `ci/scripts` as CI does; the projects here are no checkouts of a commit."""
    if DRAFTGATE_COMMIT is not None:
        env["DRAFTGATE_COMMIT"] = DRAFTGATE_COMMIT
    return subprocess.run(
        [str(SCRIPTS / name), *arguments],
        cwd=cwd,
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=600,
    )


def make_project(folder: Path) -> Path:
    """Perf tests, a profile, and engines that answer at once."""
    shutil.copytree(ROOT / "perf_tests", folder / "perf_tests")
    (folder / "small.toml").write_text(SMALL_TOML)
    (folder / "conftest.py").write_text(FAKE_ENGINES)
    return folder
