"""``--perf-fault``: a fault planted on purpose, so that the gate itself can be tested."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from draftgate.plugin.cells import cell_of

if TYPE_CHECKING:
    import pytest

    from draftgate.engine.fault import Fault
    from draftgate.profile.cells import Scenario

DROP_CELLS = "drop-cells"
DEFAULT_SIZES = {
    "sleep": 0.1,
    "drafter-twice": 1.0,
    "k": 0.5,
    "noisy-head": 0.3,
    "early-stop": 0.5,
    DROP_CELLS: 1.0,
}
NOTICE = "A FAULT IS PLANTED"


@dataclass(frozen=True)
class PlantedFault:
    """What goes wrong, how much, and where.

    ``where``: pattern of scenario ids; None: every scenario with speculative decoding.
    """

    text: str
    kind: str
    size: float
    where: str | None = None

    @classmethod
    def parse(cls, text: str) -> PlantedFault:
        """Read ``KIND[:SIZE][@SCENARIO]``. Raises ArgumentTypeError."""
        what, _, where = text.partition("@")
        kind, colon, size = what.partition(":")
        if kind not in DEFAULT_SIZES:
            raise ArgumentTypeError(f"{kind!r} is none of {', '.join(DEFAULT_SIZES)}")
        try:
            planted = cls(text, kind, float(size) if colon else DEFAULT_SIZES[kind], where or None)
            planted._check()
        except ValueError as error:
            raise ArgumentTypeError(f"{text!r}: {_reason(error)}") from None
        return planted

    def of(self, scenario: Scenario) -> Fault | None:
        """The fault of the scenario's engine; a reference's engine has none."""
        fault = self._fault()
        if fault is None or scenario.environment or not self._covers(scenario):
            return None
        return fault if fault.concerns(scenario.variant.speculative_config) else None

    def drop(self, items: list[pytest.Item]) -> None:
        """Lose the tests of the last cells, without telling anyone."""
        if self.kind != DROP_CELLS:
            return
        cells = dict.fromkeys(c for item in items if (c := cell_of(item)) is not None)
        lost = [c for c in cells if self._covers(c.scenario)][-int(self.size) :]
        items[:] = [item for item in items if cell_of(item) not in lost]

    def notice(self) -> str:
        """What a report says first."""
        return f"{NOTICE} (--perf-fault {self.text}): this run tests the gate, not the engines"

    def facts(self, scenarios: Iterable[Scenario]) -> dict[str, Any]:
        """For `run.json`."""
        hit = [scenario.id for scenario in scenarios if self.of(scenario) is not None]
        return {"planted": self.text, "kind": self.kind, "size": self.size, "scenarios": hit}

    def _covers(self, scenario: Scenario) -> bool:
        if self.where is None:
            return not scenario.is_control
        return fnmatchcase(scenario.id, self.where)

    def _fault(self) -> Fault | None:
        from draftgate.engine.fault import Fault

        if self.kind == DROP_CELLS:
            return None
        return Fault.model_validate({"kind": self.kind, "size": self.size})

    def _check(self) -> None:
        if self.kind == DROP_CELLS and not (self.size >= 1 and self.size == int(self.size)):
            raise ValueError(f"{DROP_CELLS} takes a number of cells")
        self._fault()


def _reason(error: ValueError) -> str:
    from draftgate.engine.logs import describe

    return describe(error).removeprefix("ValidationError: ").removeprefix("ValueError: ")
