"""How an engine child gets a mutant: the function that its spec's hook names."""

from __future__ import annotations

import os

from draftgate.engine.hooks import Hook
from draftgate.lossless.mutants.catalogue import find
from draftgate.lossless.mutants.mutant import Mutant


def apply(mutant_id: str) -> None:
    """Put the mutant into this process's vLLM. Raises MutantError."""
    find(mutant_id).apply()


VARIABLE = "DRAFTGATE_MUTANT"
"""Names the mutant that the suite's speculating engines get."""


def planted() -> tuple[Hook, ...]:
    """For the suite's speculating engines: the mutant that the environment names, if any."""
    named = os.environ.get(VARIABLE)
    return (hook_of(find(named)),) if named else ()


def hook_of(mutant: Mutant) -> Hook:
    """The hook that applies ``mutant`` in an engine child."""
    return Hook(function=f"{apply.__module__}:{apply.__name__}", argument=mutant.id)
