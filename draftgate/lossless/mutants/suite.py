"""Runs correctness_tests against a mutant: one process a sampler, a fork of it a mutant.

vLLM takes seconds to import, and its kernels are chosen then; a fork starts with both, so that most
mutants cost only the test that kills them.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

from draftgate.lossless.channels import Channel
from draftgate.lossless.mutants import hook
from draftgate.lossless.mutants.mutant import ENGINES, Mutant, MutantError, Outcome
from draftgate.lossless.mutants.verdicts import Failure, Verdicts

TIMEOUT_S = 1800.0  # a control is held to the whole suite, and interpreted kernels are slow
ENGINES_TIMEOUT_S = 2400.0
_POLL_S = 0.05
_PYTEST_ARGUMENTS = ("-q", "-p", "no:cacheprovider", "--hypothesis-profile=mutant", "--tb=line")
# Slow tests say nothing that the others do not, and cost minutes a mutant; children of whole
# engines know nothing of a fault of this process.
_OF_ENGINES = "engine and not slow"
_OF_SAMPLERS = "not slow and not engine"
_ANY: frozenset[Channel] = frozenset(get_args(Channel))
_LOSSLESSNESS: frozenset[Channel] = frozenset({"losslessness"})


class Suite:
    """The tests in ``folder``, against the sampler of this process."""

    def __init__(self, folder: Path, sampler: str, log: Path) -> None:
        """Import vLLM with ``sampler``'s kernels; this process can test no other afterwards.

        ``sampler`` may be `ENGINES`. pytest's output goes to the file ``log``. Raises MutantError
        where there are no tests, or this process has another sampler; SamplerError where the
        sampler cannot run.
        """
        from draftgate.lossless.samplers import DEFAULT, VARIABLE, load_sampler

        self._folder, self._log = folder, log
        self.modules = tuple(sorted(path.name for path in folder.glob("test_*.py")))
        if not self.modules:
            raise MutantError(f"{folder} holds no tests: run this in a checkout of draftgate")
        self._of_engines = sampler == ENGINES
        os.environ[VARIABLE] = DEFAULT if self._of_engines else sampler
        if not self._of_engines:
            load_sampler(sampler)

    def outcome(self, mutant: Mutant) -> Outcome:
        """Run the tests until one kills ``mutant``; all of them where none is expected to.

        A mutant that must leave losslessness alone is held to all tests as well: it is killed by
        losslessness if any test says so.
        """
        started = time.monotonic()
        order = sorted(self.modules, key=lambda module: module not in mutant.tests)
        stops = _LOSSLESSNESS if mutant.expected_channel == "losslessness" else frozenset()
        failures = self.failures(mutant, order, stops)
        killer = next((f for f in failures if f.channel == "losslessness"), None)
        killer = killer or next(iter(failures), None)
        return Outcome(
            mutant,
            killer.channel if killer else None,
            killer.test if killer else None,
            time.monotonic() - started,
        )

    def killers(self, mutant: Mutant) -> dict[str, bool]:
        """For each test module, whether it alone kills ``mutant``."""
        return {module: bool(self.failures(mutant, [module], _ANY)) for module in self.modules}

    def failures(
        self, mutant: Mutant, modules: Sequence[str], stops: frozenset[Channel]
    ) -> list[Failure]:
        """Failing tests of ``modules`` under ``mutant``; a hang is a failure, too.

        ``stops``: the first failure of such a channel ends the run; one that speaks of acceptance
        does not say that no other speaks of losslessness.

        Raises MutantError where the mutant cannot be applied.
        """

        def run() -> list[dict[str, Any]]:
            if self._of_engines:
                os.environ[hook.VARIABLE] = mutant.id
            else:
                mutant.apply()
            return [vars(f) for f in self._pytest(modules, stops)]

        answer = _in_fork(run, self._log, ENGINES_TIMEOUT_S if self._of_engines else TIMEOUT_S)
        if answer is None:
            return [Failure("hangs or dies", "losslessness")]
        if isinstance(answer, str):
            raise MutantError(f"{mutant.id}: {answer}")
        return [Failure(**failure) for failure in answer]

    def _pytest(self, modules: Iterable[str], stops: frozenset[Channel]) -> list[Failure]:
        import pytest

        verdicts = Verdicts(stops)
        paths = [str(self._folder / module) for module in modules]
        marked = ("-m", _OF_ENGINES if self._of_engines else _OF_SAMPLERS)
        code = pytest.main([*_PYTEST_ARGUMENTS, *marked, *paths], plugins=[verdicts])
        ended = {
            *(pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED),
            pytest.ExitCode.NO_TESTS_COLLECTED,  # a module of whole engines, by itself
        }
        if code not in ended:
            raise MutantError(f"pytest ended with {code!r}; see {self._log}")
        return verdicts.failures


def _in_fork(run: Callable[[], Any], log: Path, timeout_s: float) -> Any:
    """``run()`` in a fork, through JSON: its result, an exception's text, None if it hung or died.

    Output of the fork is added to the file ``log``.
    """
    read_end, write_end = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        _answer(run, log, write_end)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        died = _waits_too_long(pid, timeout_s)
        body = pipe.read() if not died else b""
    return json.loads(body) if body else None


def _answer(run: Callable[[], Any], log: Path, write_end: int) -> None:
    """The fork's whole life."""
    try:
        with log.open("a") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        try:
            answer = run()
        except Exception as error:  # of the mutant or of this package: tests' own are caught
            answer = f"{type(error).__name__}: {error}"
        os.write(write_end, json.dumps(answer).encode())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _waits_too_long(pid: int, timeout_s: float) -> bool:
    """Wait for a child's end; kill it and say so if it takes longer than ``timeout_s``."""
    deadline = time.monotonic() + timeout_s
    while os.waitpid(pid, os.WNOHANG)[0] != pid:
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return True
        time.sleep(_POLL_S)
    return False
