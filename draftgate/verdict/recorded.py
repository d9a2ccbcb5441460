"""A recorded cell as comparisons need it: facts for the rules, counts by prompt, where it ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from draftgate.engine.fingerprint import repeats_tokens
from draftgate.measure.identities import check_beside
from draftgate.measure.per_prompt import Ratios, by_prompt
from draftgate.measure.record import Measurement
from draftgate.verdict.facts import CellFacts


@dataclass(frozen=True)
class Recorded:
    """``broken``: identities that do not hold. ``machine``: the hardware key of timed numbers.

    ``tolerances``: acceptance by prompt, for where it is not exact; empty without drafts.
    """

    facts: CellFacts
    broken: tuple[str, ...]
    machine: str
    isa_class: str
    tolerances: dict[str, Ratios]

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
            by_prompt(block.rounds, drafts=bool(block.subject.k)),
        )

    def exact_against(self, other: Recorded) -> bool:
        """Whether equal software gives equal tokens on both: one class, and no GPU."""
        return self.isa_class == other.isa_class and repeats_tokens(self.isa_class)
