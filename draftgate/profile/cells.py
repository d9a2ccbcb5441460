"""Scenario and cell: what is started, and what is measured and judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `model` builds cells, so it imports this module
    from draftgate.profile.model import Target, Variant, WorkloadSpec


@dataclass(frozen=True)
class Scenario:
    """A target with one variant: one engine start. Hashed by id.

    ``environment``: whose vLLM runs it, empty for the one under test; it leads the id.
    """

    target: Target
    variant: Variant
    environment: str = ""

    @property
    def id(self) -> str:
        """Such as ``llama-tiny/eagle3-k3``."""
        name = f"{self.target.name}/{self.variant.name}"
        return f"{self.environment}/{name}" if self.environment else name

    @property
    def arm(self) -> str:
        """``control``, or the variant's name."""
        return "control" if self.is_control else self.variant.name

    @property
    def is_control(self) -> bool:
        """Whether this is the target without speculative decoding."""
        return self.variant.speculative_config is None

    @property
    def control(self) -> Scenario:
        """The same target with variant ``none``."""
        return replace(self, variant=self.target.control)

    def __hash__(self) -> int:
        return hash(self.id)


@dataclass(frozen=True)
class Cell:
    """A scenario on one workload at one batch size. Hashed by id.

    ``timed`` is False where only exact metrics are measured. ``staged``: its stages are timed too.
    """

    scenario: Scenario
    workload: WorkloadSpec
    batch_size: int
    timed: bool = True
    staged: bool = False

    @property
    def id(self) -> str:
        """Such as ``llama-tiny/eagle3-k3/gsm8k/bs8``."""
        return f"{self.scenario.id}/{self.workload.name}/bs{self.batch_size}"

    @property
    def staged_rounds(self) -> tuple[int, int]:
        """Rounds with the stage timer on: before the timed ones, and after them.

        A burst of other work makes all of a round's stages dearer, each by another factor: within
        one round that looks like a change, between two it is noise.
        """
        return (1, 1) if self.staged else (0, 0)

    @property
    def test_id(self) -> str:
        """The id as pytest shows it, with ``-`` for ``/``."""
        return self.id.replace("/", "-")

    @property
    def control(self) -> Cell:
        """The cell that this one is compared with (itself, where it is the control)."""
        return replace(self, scenario=self.scenario.control)

    def __hash__(self) -> int:
        return hash(self.id)
