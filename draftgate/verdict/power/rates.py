"""How often simulated gates are red, with bounds: one flat record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from draftgate.verdict.power.fault import Fault, FaultKind
from draftgate.verdict.power.simulated_gate import Outcome


@dataclass(frozen=True)
class Rate:
    """The record of `draftgate power`.

    ``ci_low``, ``ci_high``: Clopper-Pearson, each bound holds with 95 % confidence, so that 0 red
    of 299 says "at most 1 %". ``cause_right``: share of the red gates in which a cell with the
    fault names it; None where none is red, or no fault was planted.
    """

    fault: str
    size: float
    gates: int
    red: int
    rate: float
    ci_low: float
    ci_high: float
    cause_right: float | None

    @classmethod
    def of(cls, fault: Fault, outcomes: Sequence[Outcome]) -> Rate:
        """Of at least one gate."""
        from statsmodels.stats.proportion import proportion_confint

        red = [outcome for outcome in outcomes if outcome.red]
        low, high = proportion_confint(len(red), len(outcomes), alpha=0.10, method="beta")
        named = None
        if red and fault.kind is not FaultKind.NONE:
            named = sum(outcome.cause_right for outcome in red) / len(red)
        return cls(
            fault.kind.value,
            fault.size,
            len(outcomes),
            len(red),
            len(red) / len(outcomes),
            float(low),
            float(high),
            named,
        )
