"""A recorded cell as comparisons need it: facts for the rules, and where it ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from draftgate.engine.fingerprint import repeats_tokens
from draftgate.measure.identities import check_beside
from draftgate.measure.record import Measurement
from draftgate.verdict.facts import CellFacts


@dataclass(frozen=True)
class Recorded:
    """``broken``: identities that do not hold. ``machine``: the hardware key of timed numbers."""

    facts: CellFacts
    broken: tuple[str, ...]
    machine: str
    isa_class: str

    @classmethod
    def of(cls, measurement: Measurement) -> Self:
        """Of one session."""
        block = measurement.draftgate
        broken = check_beside(
            block.rounds,
            block.control_rounds,
            block.subject.k,
            repeats=block.machine.repeats_tokens,
        )
        return cls(
            CellFacts.of(measurement),
            tuple(f"{found.identity}: {found.detail}" for found in broken),
            block.machine.key,
            block.machine.isa_class,
        )

    def exact_against(self, other: Recorded) -> bool:
        """Whether equal software gives equal tokens on both: one class, and no GPU."""
        return self.isa_class == other.isa_class and repeats_tokens(self.isa_class)
