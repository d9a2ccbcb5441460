"""The same cells on another environment's engines, beside those under test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from draftgate.engine.errors import EngineError
from draftgate.engine.fingerprint import repeats_tokens
from draftgate.engine.protocol import EngineInfo, RoundRequest
from draftgate.engine.records import RoundRecord
from draftgate.measure.arms import Arms
from draftgate.measure.cell_run import CellRun
from draftgate.measure.identities import check
from draftgate.measure.pairs import Pairs
from draftgate.measure.session import Measured, MeasureError, Session
from draftgate.measure.stages import StageSamples, stage_samples

if TYPE_CHECKING:
    from draftgate.profile.cells import Cell, Scenario

REFERENCE = "reference"
"""The environment (`Scenario.environment`) of the reference's engines."""


def twin(scenario: Scenario) -> Scenario:
    """The scenario as the reference runs it."""
    return replace(scenario, environment=REFERENCE)


@dataclass(frozen=True)
class EnvironmentEngines:
    """The engines of another environment, in the pool of those under test.

    They share cores and memory. ``place``: the scenario as that environment runs it. ``ran``: ids
    of the scenarios that have played a round there.
    """

    arms: Arms
    place: Callable[[Scenario], Scenario] = twin
    ran: set[str] = field(default_factory=set)

    def generate(self, scenario: Scenario, request: RoundRequest) -> RoundRecord:
        """One round there. Raises EngineError."""
        record = self.arms.generate(self.place(scenario), request)
        self.ran.add(scenario.id)
        return record

    def info(self, scenario: Scenario) -> EngineInfo:
        """Facts of the engine there. Raises EngineError."""
        return self.arms.info(self.place(scenario))

    def starts_of(self, scenario: Scenario) -> int:
        """How often the engine there was started. Raises EngineError."""
        return self.arms.starts_of(self.place(scenario))

    def stop(self, scenario: Scenario) -> None:
        """End the engine there, if it runs."""
        self.arms.stop(self.place(scenario))


@dataclass
class Reference:
    """Measures cells on the reference, on demand and once each.

    ``session`` measures on the reference's engines, ``candidate`` on those under test. ``wanted``:
    pairs a cell, spread over ``starts`` processes of either side. ``watch`` hears of each round of
    a pair, ``arm`` (under test) or ``control``.
    """

    candidate: Session
    session: Session
    wanted: int
    starts: int
    watch: Callable[[Cell, str, RoundRecord], None]
    _pairs: dict[str, list[Pairs]] = field(default_factory=dict)
    _failed: dict[str, Exception] = field(default_factory=dict)
    _stages: dict[str, tuple[StageSamples, StageSamples]] = field(default_factory=dict)

    def measured(self, cell: Cell) -> Measured:
        """What is exact about the cell on the reference: one round. Raises as a session does."""
        return self.session.measured(replace(cell, timed=False, staged=False))

    def pairs(self, cell: Cell) -> tuple[Pairs, ...]:
        """Rounds of both sides next to each other, A B B A, for each start of the two.

        Tried once. Starts that were finished before the reference's engine failed have their say.
        Raises as a session does, and MeasureError on a broken identity.
        """
        if cell.id not in self._pairs:
            self._pairs[cell.id] = []
            try:
                for pairs in self._played(cell):
                    self._pairs[cell.id].append(pairs)
            except (EngineError, MeasureError) as error:
                self._failed[cell.id] = error
            except BaseException:  # an interruption: whoever asks again plays them anew
                del self._pairs[cell.id]
                raise
        failed, played = self._failed.get(cell.id), tuple(self._pairs[cell.id])
        theirs = {twin(s).id for s in (cell.scenario, cell.scenario.control)}
        excused = isinstance(failed, EngineError) and failed.label in theirs
        if failed and not (played and excused):
            raise failed
        return played

    def stages(self, cell: Cell) -> tuple[StageSamples, StageSamples]:
        """Stage times under test and on the reference, a session of two staged rounds each.

        Both engines warm, next to each other as pairs are. Raises as `pairs` does.
        """
        if cell.id not in self._stages:
            for side in (self.candidate, self.session):
                side.player(cell)
            run = CellRun(
                lambda: self.candidate.staged_rounds(cell, 1)[0],
                lambda: self.session.staged_rounds(cell, 1)[0],
                rounds_wanted=2,
            )
            run.finish()
            self._require_sound(cell, run)
            self._stages[cell.id] = (
                stage_samples(*run.rounds),
                stage_samples(*run.control_rounds),
            )
        return self._stages[cell.id]

    def ran(self, cell: Cell) -> bool:
        """Whether the reference has played a round of the cell's variant in this run."""
        engines = self.session.engines
        return isinstance(engines, EnvironmentEngines) and cell.scenario.id in engines.ran

    def compared(self) -> tuple[Measured, ...]:
        """What was measured exactly on the reference so far."""
        return self.session.all_measured()

    def all_pairs(self) -> dict[str, tuple[Pairs, ...]]:
        """The pairs played so far, by cell id."""
        return {cell: tuple(pairs) for cell, pairs in self._pairs.items() if pairs}

    def _played(self, cell: Cell) -> Iterator[Pairs]:
        for start in range(self.starts):
            if self.starts > 1:
                self._restart(cell.scenario, start)
            run = CellRun(
                self.candidate.player(cell),
                self.session.player(cell),
                self.wanted // self.starts,
                lambda arm, record: self.watch(cell, arm, record),
            )
            run.finish()
            self._require_sound(cell, run)
            yield Pairs(tuple(run.rounds), tuple(run.control_rounds))

    def _require_sound(self, cell: Cell, run: CellRun) -> None:
        k = cell.scenario.variant.k
        repeats = repeats_tokens(self.candidate.engines.info(cell.scenario).isa_class)
        for side, rounds in (("under test", run.rounds), ("reference", run.control_rounds)):
            for broken in check(rounds, k, repeats=repeats):
                raise MeasureError(
                    f"{cell.id}: pairs: {side}: identity {broken.identity} broken: {broken.detail}"
                )

    def _restart(self, scenario: Scenario, start: int) -> None:
        """New processes, so that the luck that raised a suspicion is not what confirms it.

        Both end before either starts, and the sides take turns at being first: an engine that
        starts where its predecessor has just ended gets the very pages that it had.
        """
        both = (self.candidate.engines, self.session.engines)
        for engines in both:
            engines.stop(scenario)
        for engines in both if start % 2 == 0 else reversed(both):
            engines.info(scenario)  # whoever asks starts it
