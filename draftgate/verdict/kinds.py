"""The kinds of verdict, and which of them fail a test."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class VerdictKind(StrEnum):
    """Ordered as a report lists them, the worst first."""

    INVALID = "INVALID"
    """Identity broken, or a sample that is no positive number: nothing can be said."""
    REGRESSED = "REGRESSED"
    """Exact: another value, not higher. Timed: a loss beyond the limit, significant."""
    SUSPECT = "SUSPECT"
    """A loss beyond the limit, significant by itself, but perhaps chance among the manifest's
    comparisons, or to be confirmed against a reference."""
    STALE = "STALE"
    """The baseline was taken over other prompts (workload hash) or longer or shorter outputs."""
    IMPLAUSIBLE = "IMPLAUSIBLE"
    """Better than can be believed. Fails for exact metrics, where any change is one."""
    UNBASELINED = "UNBASELINED"
    """Nothing to compare with."""
    UNDERPOWERED = "UNDERPOWERED"
    """Too few samples to estimate noise."""
    UNSTABLE = "UNSTABLE"
    """Too noisy to tell a loss at the limit from none."""
    BASELINE_DRIFT = "BASELINE_DRIFT"
    """Slower than the baseline, but so is the reference: the machine changed, not the code."""
    IMPROVED = "IMPROVED"
    """Timed only: a gain beyond the limit, significant; a refresh is due."""
    OK = "OK"
    """Exact: equal. Timed: no loss beyond the limit."""


ALWAYS_FAILING = frozenset({VerdictKind.INVALID, VerdictKind.REGRESSED, VerdictKind.STALE})


@dataclass(frozen=True)
class FailurePolicy:
    """What fails beyond `ALWAYS_FAILING` and an implausible exact metric.

    ``suspect``: where a reference was asked for, and could not confirm. Without one a suspect is
    listed with the way to confirm it: what blocks has to survive the manifest's comparisons.
    """

    suspect: bool = True
    require_baseline: bool = False
    implausible_timed: bool = False

    def fails(self, kind: VerdictKind, *, exact: bool) -> bool:
        """Whether a verdict of this kind is a failing test."""
        if kind is VerdictKind.SUSPECT:
            return self.suspect
        if kind is VerdictKind.UNBASELINED:
            return self.require_baseline
        if kind is VerdictKind.IMPLAUSIBLE:
            return exact or self.implausible_timed
        return kind in ALWAYS_FAILING
