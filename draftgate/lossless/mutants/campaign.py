"""Runs mutants, each in the process that its fault needs, and yields what became of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from draftgate.lossless.mutants.engine_trial import PREFIX, Workbench, engine_outcomes
from draftgate.lossless.mutants.mutant import Mutant, Outcome
from draftgate.lossless.mutants.workers import Workers


def outcomes(
    mutants: Iterable[Mutant],
    *,
    tests: Path,
    log_dir: Path,
    workbench: Callable[[], Workbench],
    jobs: int = 1,
) -> Iterator[Outcome]:
    """What became of each mutant, as soon as it is known.

    ``tests``: the folder of the suite. ``log_dir`` gets pytest's and the engines' output.
    ``workbench`` is asked for only where a mutant needs engines. ``jobs``: processes side by side;
    engines of the workbench, some of which are timed, run alone. Raises MutantError where a mutant
    cannot be run, EngineError where an engine without one fails.
    """
    log_dir.mkdir(parents=True, exist_ok=True)
    ordered = sorted(mutants, key=_place)
    of_samplers = [mutant for mutant in ordered if not _needs_engine(mutant)]
    for mutant, answer in Workers(tests, log_dir, jobs).answers(of_samplers):
        yield Outcome(mutant, answer["killed_by"], answer["test"], answer["seconds"])
    of_engines = [mutant for mutant in ordered if _needs_engine(mutant)]
    if of_engines:
        yield from engine_outcomes(of_engines, workbench(), log_dir)


def killing_modules(
    mutants: Iterable[Mutant], *, tests: Path, log_dir: Path, jobs: int = 1
) -> Iterator[tuple[Mutant, frozenset[str]]]:
    """For each mutant of a sampler, the test modules that kill it on their own."""
    log_dir.mkdir(parents=True, exist_ok=True)
    of_samplers = sorted((m for m in mutants if not _needs_engine(m)), key=_place)
    for mutant, answer in Workers(tests, log_dir, jobs).answers(of_samplers, "--by-module"):
        yield mutant, frozenset(m for m, kills in answer["killers"].items() if kills)


def _place(mutant: Mutant) -> str:
    return mutant.where


def _needs_engine(mutant: Mutant) -> bool:
    return mutant.where.startswith(PREFIX)
