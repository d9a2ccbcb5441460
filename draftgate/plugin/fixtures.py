"""The fixtures of performance tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from draftgate.plugin.cells import cell_of
from draftgate.plugin.run_facts import tell_junit
from draftgate.plugin.stash import GATE

if TYPE_CHECKING:
    from draftgate.measure.bound import Bound
    from draftgate.measure.session import Measured
    from draftgate.plugin.gate import Gate
    from draftgate.profile.cells import Cell
    from draftgate.verdict.verdict import Verdict


@pytest.fixture(scope="session")
def perf_gate(request: pytest.FixtureRequest) -> Gate:
    """The run's engines, session and baselines; engines are started at the first use."""
    found = request.config.stash.get(GATE, None)
    if found is None:  # a worker of pytest-xdist
        pytest.fail("cells share the machine's cores: run perf tests without -n", pytrace=False)
    tell_junit(found, request)
    found.start_engines()
    found.progress.clear()
    return found


@pytest.fixture
def perf(request: pytest.FixtureRequest, perf_gate: Gate) -> Perf:
    """Measures and judges the test's cell."""
    cell = cell_of(request.node)
    assert cell is not None  # `cells.parametrize` gave it one
    return Perf(perf_gate, cell, request.node)


@dataclass(frozen=True)
class Perf:
    """The cell of one test."""

    gate: Gate
    cell: Cell
    item: pytest.Item

    @property
    def measured(self) -> Measured:
        """The cell's measurement, made now if no earlier test did; fails the test if it cannot."""
        from draftgate.plugin.gate import MEASUREMENT

        with self._failing_clearly(MEASUREMENT):
            return self.gate.measured(self.cell)

    def time_with(self, benchmark: Any) -> None:
        """Play the cell's rounds under pytest-benchmark's timer."""
        from draftgate.plugin.gate import MEASUREMENT

        with (
            self._failing_clearly(MEASUREMENT),
            self.gate.session.playing(self.cell) as run,
        ):
            missing = run.rounds_wanted - len(run.rounds)
            if missing > 0:
                benchmark.group = f"{self.cell.workload.name} bs{self.cell.batch_size}"
                benchmark.pedantic(run.play, setup=run.before, teardown=run.after, rounds=missing)
                benchmark.extra_info["cell"] = self.cell.id
                benchmark.extra_info["tokens_per_round"] = run.rounds[-1].generated_tokens

    def judge(self, metric: str) -> None:
        """Fail the test where the verdict on ``metric`` does."""
        cell = self.measured.cell
        with self._failing_clearly(metric):
            verdict = self.gate.judge(cell, metric)
        self._conclude(verdict)

    def require_sound(self) -> None:
        """Fail the test where the measurement breaks an identity."""
        self._conclude(self.gate.judge_identities(self.measured.cell))

    def require_memory(self) -> None:
        """Fail the test where the engine's cache is not what the models' configs say."""
        self._conclude(self.gate.judge_memory(self.measured.cell))

    def measure_bounds(self) -> tuple[Bound, ...]:
        """Replay the control's output by the scripts of `draftgate.analysis.replayed_bound`.

        Fails the test where a replay is not what its script says.
        """
        from draftgate.verdict.manifest import UPPER_BOUND

        with self._failing_clearly(UPPER_BOUND):
            bounds, verdict = self.gate.judge_bounds(self.cell)
        self.item.user_properties += [(f"perf.{UPPER_BOUND}.{b.replay}", b.speedup) for b in bounds]
        self._conclude(verdict)
        return bounds

    @contextmanager
    def _failing_clearly(self, metric: str) -> Iterator[None]:
        """Turn the rooms' errors into an INVALID verdict and a failure without a traceback."""
        from draftgate.plugin.gate import EXPLAINED

        try:
            yield
        except EXPLAINED as error:
            verdict, details = self.gate.explain(self.cell, metric, error)
            self._conclude(verdict, details)
            raise pytest.fail.Exception(verdict.line(), pytrace=False) from None

    def _conclude(self, verdict: Verdict, details: str = "") -> None:
        self.item.user_properties += [
            (f"perf.{key}", value)
            for key, value in verdict.record().items()
            if value not in (None, "") and key != "cell"  # told at collection, for skips too
        ]
        if fault := self.gate.options.fault:
            self.item.user_properties.append(("perf.fault", fault.text))
        lines = [verdict.line(), details] if self.gate.fails(verdict) else []
        if lines := [line for line in (*lines, self.gate.unwritten) if line]:
            # From None: else pytest shows the room's own error first.
            raise pytest.fail.Exception("\n".join(lines), pytrace=False) from None
