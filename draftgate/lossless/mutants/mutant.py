"""What a mutant is, and what became of one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

from draftgate.lossless.channels import Channel

Kind: TypeAlias = Literal[
    "random numbers",
    "acceptance test",
    "residual",
    "greedy",
    "bonus token",
    "rows",
    "sampling parameters",
    "text history",
    "log-probabilities",
    "placeholders",
    "scheduler",
    "drafter",
    "counters",
    "speed",
    "reference",
    "control",
]


ENGINES = "engines"
"""Where a mutant is, in place of a sampler: in the engines that the suite's own tests run."""


@dataclass(frozen=True)
class Mutant:
    """One fault.

    ``where`` is the sampler (see `draftgate.lossless.samplers`) whose tests must kill it,
    "engine/VARIANT" for a fault that a whole engine shows in one round, or "engines" for one that
    the suite's tests of engines must kill. ``apply`` puts the fault into the
    vLLM of this process. ``expected_channel`` None: a control. ``tests`` are modules of
    correctness_tests that come first. ``quick``: part of the short run. ``sole``: no other module
    kills it. ``source``: where the fault was seen, such as an issue of vLLM.
    """

    id: str
    kind: Kind
    where: str
    expected_channel: Channel | None
    apply: Callable[[], None]
    tests: tuple[str, ...] = ()
    quick: bool = False
    sole: bool = False
    source: str = ""


class Subset(StrEnum):
    """Which mutants: a short run's, all, or for each test module one that no other kills."""

    QUICK = "quick"
    ALL = "all"
    MODULES = "modules"

    def holds(self, mutant: Mutant) -> bool:
        """Whether ``mutant`` is one of them."""
        match self:
            case Subset.QUICK:
                return mutant.quick
            case Subset.MODULES:
                return mutant.sole
            case Subset.ALL:
                return True


@dataclass(frozen=True)
class Outcome:
    """What became of a mutant; ``killed_by`` and ``test`` are None where it lived."""

    mutant: Mutant
    killed_by: Channel | None
    test: str | None
    seconds: float

    @property
    def as_expected(self) -> bool:
        """Whether the expected channel killed it, or it is a control and lived."""
        return self.killed_by == self.mutant.expected_channel

    def record(self) -> dict[str, str | float | None]:
        """The flat record that `draftgate mutants` prints."""
        return {
            "mutant": self.mutant.id,
            "kind": self.mutant.kind,
            "expected_channel": self.mutant.expected_channel,
            "killed_by": self.killed_by,
            "test": self.test,
            "seconds": round(self.seconds, 1),
        }


class MutantError(Exception):
    """A mutant that cannot be made or run: the installed vLLM has other code, or no such mutant."""
