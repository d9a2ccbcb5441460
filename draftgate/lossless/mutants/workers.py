"""Worker processes of mutants, several side by side: each has one sampler and answers line by line.

Threads only wait for lines here; who stops listening ends the processes, and with them the threads.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from queue import Queue
from threading import Lock
from typing import Any, TypeAlias

from draftgate.lossless.mutants.mutant import Mutant, MutantError

Answer: TypeAlias = tuple[Mutant, dict[str, Any]]
LARGEST_GROUP = 12  # a worker needs seconds to begin, so that a mutant each would be too few


@dataclass
class Workers:
    """Runs mutants of samplers in processes, ``jobs`` at a time.

    ``tests``: the suite's folder. ``log_dir`` gets what pytest and the engines say.
    """

    tests: Path
    log_dir: Path
    jobs: int
    _running: set[subprocess.Popen[str]] = field(default_factory=set)
    _stopped: bool = False
    _lock: Lock = field(default_factory=Lock)

    def answers(self, mutants: Sequence[Mutant], *options: str) -> Iterator[Answer]:
        """Each mutant's answer as it comes. Raises MutantError where one cannot be run."""
        groups = list(_groups(mutants))
        found: Queue[Answer | Exception | None] = Queue()
        with ThreadPoolExecutor(self.jobs) as pool:
            for number, group in enumerate(groups):
                pool.submit(self._play, group, f"{group[0].where}-{number}", options, found)
            try:
                for _ in groups:
                    while (item := found.get()) is not None:
                        if isinstance(item, Exception):
                            raise item
                        yield item
            finally:
                self._stop()

    def _play(
        self,
        group: Sequence[Mutant],
        name: str,
        options: Sequence[str],
        found: Queue[Answer | Exception | None],
    ) -> None:
        try:
            for answer in self._answers_of(group, name, options):
                found.put(answer)
        except Exception as error:
            found.put(error)
        finally:
            found.put(None)

    def _answers_of(
        self, group: Sequence[Mutant], name: str, options: Sequence[str]
    ) -> Iterator[Answer]:
        errors = self.log_dir / f"{name}.stderr.log"
        command = [
            *(sys.executable, "-W", "ignore", "-m", "draftgate.lossless.mutants.worker"),
            *("--sampler", group[0].where, "--tests", str(self.tests.resolve())),
            *("--log", str((self.log_dir / f"{name}.log").resolve()), *options),
            *(mutant.id for mutant in group),
        ]
        worker = self._start(command, errors)
        if worker is None:
            return
        assert worker.stdout is not None
        try:
            for mutant in group:
                line = worker.stdout.readline()
                if not line:
                    raise MutantError(f"the process of {name} died at {mutant.id}; see {errors}")
                answer = json.loads(line)
                if "error" in answer:
                    raise MutantError(answer["error"])
                yield mutant, answer
        finally:
            self._end(worker)
            worker.stdout.close()

    def _start(self, command: Sequence[str], errors: Path) -> subprocess.Popen[str] | None:
        """None where nobody listens any more."""
        environment = os.environ | {"OMP_NUM_THREADS": "1", "VLLM_LOGGING_LEVEL": "ERROR"}
        with self._lock, errors.open("w") as stderr:
            if self._stopped:
                return None
            worker = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                env=environment,
                start_new_session=True,
            )
            self._running.add(worker)
        return worker

    def _end(self, worker: subprocess.Popen[str]) -> None:
        _kill(worker)
        worker.wait()
        self._running.discard(worker)

    def _stop(self) -> None:
        with self._lock:
            self._stopped = True
            running = tuple(self._running)
        for worker in running:
            _kill(worker)


def _kill(worker: subprocess.Popen[str]) -> None:
    """The worker and its forks."""
    with suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)


def _groups(mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, ...]]:
    """Mutants of one sampler each, and not too many, so that workers end at about one time."""
    for _, group in groupby(mutants, key=lambda mutant: mutant.where):
        members = tuple(group)
        for first in range(0, len(members), LARGEST_GROUP):
            yield members[first : first + LARGEST_GROUP]
