"""All mutants, and how to choose among them."""

from __future__ import annotations

from collections.abc import Iterable

from draftgate.lossless.mutants import (
    controls,
    engine_faults,
    reference_faults,
    suite_faults,
    v1_kernels,
    v1_parameters,
    v1_sampler,
    v2_kernels,
)
from draftgate.lossless.mutants.mutant import Mutant, MutantError, Subset

CATALOGUE: tuple[Mutant, ...] = (
    *v1_sampler.MUTANTS,
    *v1_parameters.MUTANTS,
    *v1_kernels.MUTANTS,
    *v2_kernels.MUTANTS,
    *reference_faults.MUTANTS,
    *engine_faults.MUTANTS,
    *suite_faults.MUTANTS,
    *controls.MUTANTS,
)


def chosen(subset: Subset, only: Iterable[str] = ()) -> tuple[Mutant, ...]:
    """The mutants of ``subset``, or those named in ``only`` (ids or beginnings of ids).

    Raises MutantError where a name matches none.
    """
    names = tuple(only)
    for name in names:
        if not any(mutant.id.startswith(name) for mutant in CATALOGUE):
            raise MutantError(f"no mutant {name!r}; `draftgate mutants --list` shows their names")
    if names:
        return tuple(m for m in CATALOGUE if m.id.startswith(names))
    return tuple(m for m in CATALOGUE if subset.holds(m))


def find(mutant_id: str) -> Mutant:
    """The mutant of that id. Raises MutantError where there is none."""
    for mutant in CATALOGUE:
        if mutant.id == mutant_id:
            return mutant
    raise MutantError(f"no mutant {mutant_id!r}")
