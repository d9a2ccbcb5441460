"""The fixtures of performance tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from draftgate.plugin.cells import cell_of
from draftgate.plugin.stash import GATE

if TYPE_CHECKING:
    from draftgate.measure.session import Measured
    from draftgate.plugin.gate import Gate
    from draftgate.profile.cells import Cell


@pytest.fixture(scope="session")
def gate(request: pytest.FixtureRequest) -> Gate:
    """The run's engines, session and baselines; engines are started at the first use."""
    found = request.config.stash[GATE]
    found.start_engines()
    found.progress.clear()
    return found


@pytest.fixture
def perf(request: pytest.FixtureRequest, gate: Gate) -> Perf:
    """Measures and judges the test's cell."""
    cell = cell_of(request.node)
    if cell is None:
        raise pytest.UsageError("the fixture `perf` needs the argument `cell` beside it")
    return Perf(gate, cell, request.node)


@dataclass(frozen=True)
class Perf:
    """The cell of one test."""

    gate: Gate
    cell: Cell
    item: pytest.Item

    @property
    def measured(self) -> Measured:
        """The cell's measurement, made now if no earlier test did; fails the test if it cannot."""
        with self.gate.failing_clearly():
            return self.gate.measured(self.cell)

    def time_with(self, benchmark: Any) -> None:
        """Play the cell's rounds under pytest-benchmark's timer."""
        with self.gate.failing_clearly():
            run = self.gate.session.open(self.cell)
            missing = self.gate.profile.plan.rounds - len(run.rounds)
            if missing > 0:
                benchmark.group = f"{self.cell.workload.name} bs{self.cell.batch_size}"
                benchmark.pedantic(run.play, setup=run.before, teardown=run.after, rounds=missing)
                benchmark.extra_info["cell"] = self.cell.id
                benchmark.extra_info["tokens_per_round"] = run.rounds[-1].generated_tokens

    def judge(self, metric: str) -> None:
        """Fail the test where the verdict on ``metric`` does."""
        measured = self.measured
        with self.gate.failing_clearly():
            verdict = self.gate.judge(measured.cell, metric)
        self.item.user_properties += [
            (f"perf.{key}", value) for key, value in verdict.record().items() if value is not None
        ]
        if self.gate.fails(verdict):
            pytest.fail(verdict.line(), pytrace=False)

    def require_sound(self) -> None:
        """Fail the test where the measurement breaks an identity."""
        broken = self.measured.broken
        if broken:
            lines = [f"INVALID {self.cell.id} {b.identity}: {b.detail}" for b in broken]
            pytest.fail("\n".join(lines), pytrace=False)
