"""Measured cells as candidates for the baseline store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from draftgate.baseline.schema import ExactBaseline, StoredExact, StoredSamples, TimedBaseline
from draftgate.baseline.candidate import Candidate
from draftgate.measure.session import Measured

if TYPE_CHECKING:
    from draftgate.profile.model import Profile


def candidates(measured: Iterable[Measured], profile: Profile) -> Iterator[Candidate]:
    """An exact and a timed candidate a cell."""
    for item in measured:
        block = item.measurement.draftgate
        broken = tuple(f"{b.identity}: {b.detail}" for b in item.broken)
        problem = None
        if block.outputs_equal_control is not None and not block.outputs_equal_control.equal:
            problem = "its outputs differ from the control's"
        limits = profile.limits.stated()
        exact = ExactBaseline(
            workload_hash=block.subject.workload_hash,
            metrics=StoredExact.model_validate(block.exact.model_dump()),
        )
        timed = TimedBaseline(
            workload_hash=block.subject.workload_hash,
            metrics={name: StoredSamples.of([samples]) for name, samples in block.timed.items()},
        )
        for key, baseline in ((block.machine.isa_class, exact), (block.machine.key, timed)):
            yield Candidate(item.cell.id, key, baseline, broken, problem, limits)
