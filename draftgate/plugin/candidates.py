"""Measured cells as candidates for the baseline store."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from draftgate.baseline.candidate import Candidate
from draftgate.baseline.errors import BaselineError
from draftgate.measure.per_prompt import by_prompt

if TYPE_CHECKING:
    from draftgate.measure.session import Measured

Make = Callable[[], Candidate]


def candidates(
    measured: Iterable[Measured], limits: Mapping[str, float]
) -> tuple[list[Candidate], list[str]]:
    """An exact candidate a cell, a timed one where it was timed, and why some cells offer none."""
    found: list[Candidate] = []
    unusable: list[str] = []
    for item in measured:
        for make in _makers(item, limits):
            try:
                found.append(make())
            except BaselineError as error:
                unusable.append(str(error))
    return found, unusable


def _makers(item: Measured, limits: Mapping[str, float]) -> tuple[Make, ...]:
    block, cell = item.measurement.draftgate, item.cell.id
    prompts, machine = block.subject.workload_hash, block.machine
    agreement = block.outputs_equal_control
    unequal = agreement is not None and not agreement.holds
    problem = "its outputs differ from the control's" if unequal else None
    parting = 0 if machine.repeats_tokens else len(block.rounds[0].requests)

    def exact() -> Candidate:
        return Candidate.exact(
            cell,
            machine.isa_class,
            prompts,
            block.exact,
            {} if machine.repeats_tokens else by_prompt(block.rounds, drafts=block.subject.k > 0),
            broken=item.faults,
            problem=problem,
            limits=limits,
            parting=parting,
        )

    def timed() -> Candidate:
        samples = {name: [values] for name, values in block.timed.items()}
        return Candidate.timed(
            cell,
            machine.key,
            prompts,
            samples,
            block.exact.output_tokens,
            broken=item.faults,
            problem=problem or _too_noisy(block.timed, limits),
            limits=limits,
            parting=parting,
        )

    return (exact, timed) if block.timed else (exact,)


def _too_noisy(timed: Mapping[str, Sequence[float]], limits: Mapping[str, float]) -> str | None:
    """Rounds that spread more than the limit they are to guard make no baseline."""
    for name, limit in limits.items():
        if any(value <= 0 for value in timed.get(name, ())):
            return f"a sample of {name} is not positive"
        values = [math.log(v) for v in timed.get(name, ())]
        if len(values) > 1 and (spread := statistics.stdev(values)) > limit:
            return (
                f"too noisy: the rounds of {name} spread by {100 * spread:.0f} % (one standard "
                f"deviation), the limit is {100 * limit:g} %; measure on a quiet machine"
            )
    return None
