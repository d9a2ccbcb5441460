"""Runs mutants, each in the process that its fault needs, and yields what became of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import IO, Any

from draftgate.lossless.mutants.engine_trial import PREFIX, Workbench, engine_outcomes
from draftgate.lossless.mutants.mutant import Mutant, MutantError, Outcome


def outcomes(
    mutants: Iterable[Mutant], *, tests: Path, log_dir: Path, workbench: Callable[[], Workbench]
) -> Iterator[Outcome]:
    """What became of each mutant, as soon as it is known.

    ``tests``: the folder of the suite. ``log_dir`` gets pytest's and the engines' output.
    ``workbench`` is asked for only where a mutant needs engines. Raises MutantError where a mutant
    cannot be run, EngineError where an engine without one fails.
    """
    log_dir.mkdir(parents=True, exist_ok=True)
    ordered = sorted(mutants, key=_place)
    of_samplers = [mutant for mutant in ordered if not _needs_engine(mutant)]
    for where, group in groupby(of_samplers, key=_place):
        for mutant, answer in _answers(where, tuple(group), tests, log_dir):
            yield Outcome(mutant, answer["killed_by"], answer["test"], answer["seconds"])
    of_engines = [mutant for mutant in ordered if _needs_engine(mutant)]
    if of_engines:
        yield from engine_outcomes(of_engines, workbench(), log_dir)


def killing_modules(
    mutants: Iterable[Mutant], *, tests: Path, log_dir: Path
) -> Iterator[tuple[Mutant, frozenset[str]]]:
    """For each mutant of a sampler, the test modules that kill it on their own."""
    log_dir.mkdir(parents=True, exist_ok=True)
    of_samplers = sorted((m for m in mutants if not _needs_engine(m)), key=_place)
    for where, group in groupby(of_samplers, key=_place):
        for mutant, answer in _answers(where, tuple(group), tests, log_dir, "--by-module"):
            yield mutant, frozenset(m for m, kills in answer["killers"].items() if kills)


def _place(mutant: Mutant) -> str:
    return mutant.where


def _needs_engine(mutant: Mutant) -> bool:
    return mutant.where.startswith(PREFIX)


def _answers(
    sampler: str, mutants: Sequence[Mutant], tests: Path, log_dir: Path, *options: str
) -> Iterator[tuple[Mutant, dict[str, Any]]]:
    """Answers of a worker, one a mutant."""
    command = [
        *(sys.executable, "-W", "ignore", "-m", "draftgate.lossless.mutants.worker"),
        *("--sampler", sampler, "--tests", str(tests.resolve())),
        *("--log", str((log_dir / f"{sampler}.log").resolve()), *options),
        *(mutant.id for mutant in mutants),
    ]
    with _process(command, log_dir / f"{sampler}.stderr.log") as (lines, errors):
        for mutant in mutants:
            line = lines.readline()
            if not line:
                raise MutantError(f"the process of {sampler} died at {mutant.id}; see {errors}")
            answer = json.loads(line)
            if "error" in answer:
                raise MutantError(answer["error"])
            yield mutant, answer


@contextmanager
def _process(command: Sequence[str], errors: Path) -> Iterator[tuple[IO[str], Path]]:
    """A worker's stdout, and where its stderr goes; its forks end with it."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "VLLM_LOGGING_LEVEL": "ERROR"}
    with errors.open("w") as stderr:
        worker = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=environment,
            start_new_session=True,
        )
    assert worker.stdout is not None
    try:
        yield worker.stdout, errors
    finally:
        with suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
        worker.stdout.close()
