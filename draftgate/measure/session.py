"""One session: every cell measured once, on engines that stay resident, whoever asks first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from draftgate.engine.protocol import EngineInfo, RoundPrompt, RoundRequest
from draftgate.engine.records import RoundRecord
from draftgate.measure.agreement import (
    Agreement,
    compare_outputs,
    distinct_pairs,
    worst_of,
)
from draftgate.measure.cell_run import CellRun
from draftgate.measure.identities import Broken, check_beside
from draftgate.measure.record import Machine, Measurement, Provenance, Subject
from draftgate.measure.warmup import Play, warm_up

if TYPE_CHECKING:
    from draftgate.profile.cells import Cell, Scenario
    from draftgate.profile.model import Profile, WorkloadSpec
    from draftgate.workload.frozen import FrozenWorkload


Weigh = Callable[["Cell", Agreement, RoundRecord, RoundRecord], Agreement]
"""Of a cell: the agreement of its round with its control's, with the gap of each difference."""


class MeasureError(Exception):
    """Rounds that make no measurement; names the cell and why."""


class Engines(Protocol):
    """What a session needs of engines: `draftgate.measure.arms.Arms` is the real one."""

    def generate(self, scenario: Scenario, request: RoundRequest) -> RoundRecord:
        """One round on the scenario's engine, which is started where it is not resident."""

    def info(self, scenario: Scenario) -> EngineInfo:
        """Facts of the scenario's engine."""

    def starts_of(self, scenario: Scenario) -> int:
        """How often the scenario's engine was started; starts it where it is not resident."""

    def stop(self, scenario: Scenario) -> None:
        """End the scenario's engine, if it runs."""


class Watcher(Protocol):
    """Is told of every round as it ends."""

    def round_done(self, cell: Cell, arm: str, record: RoundRecord) -> None:
        """``arm``: `warm-up`, `arm`, `control` or `stages`."""


@dataclass(frozen=True)
class Measured:
    """A cell's measurement and the identities it breaks (empty: sound)."""

    cell: Cell
    measurement: Measurement
    broken: tuple[Broken, ...]

    @property
    def faults(self) -> tuple[str, ...]:
        """The broken identities as verdicts and refusals say them."""
        return tuple(f"{broken.identity}: {broken.detail}" for broken in self.broken)


@dataclass
class _Open:
    """A cell whose rounds are being played."""

    run: CellRun
    started: datetime
    warmup_walls: dict[str, tuple[float, ...]]
    staged: list[RoundRecord]


@dataclass
class Session:
    """Measures the cells of ``profile`` on demand.

    ``load`` freezes a workload; ``describe`` gives machine and provenance of a scenario's
    measurement from its engine's own facts. ``weigh``: asks the target whether differing greedy
    outputs are near-ties; without it every difference is one.
    """

    profile: Profile
    engines: Engines
    load: Callable[[WorkloadSpec], FrozenWorkload]
    describe: Callable[[Scenario, EngineInfo], tuple[Machine, Provenance]]
    watcher: Watcher
    weigh: Weigh | None = None
    _open: dict[str, _Open] = field(default_factory=dict)
    _done: dict[str, Measured] = field(default_factory=dict)
    _failed: dict[str, Exception] = field(default_factory=dict)
    _warm: dict[tuple[str, int, int], tuple[float, ...]] = field(default_factory=dict)

    @contextmanager
    def playing(self, cell: Cell) -> Iterator[CellRun]:
        """The cell's run, warmed up, for a caller that times the rounds itself.

        A cell is tried once: what fails in here is raised again at every later call.
        """
        if error := self._failed.get(cell.id):
            raise error
        try:
            yield self._opened(cell).run
        except Exception as error:
            self._failed[cell.id] = error
            raise

    def measured(self, cell: Cell) -> Measured:
        """The cell's measurement; measured now if it was not before.

        Raises what made the measurement fail: an error of the engines or of the workload, or
        `MeasureError`.
        """
        if cell.id not in self._done:
            with self.playing(cell) as run:
                run.finish()
                self._done[cell.id] = self._measure(cell)
        return self._done[cell.id]

    def player(self, cell: Cell) -> Play:
        """Plays the cell's round, on an engine that is warm at its batch size."""
        self._warm_up(cell)
        return self._player(cell)

    def subject(self, cell: Cell) -> Subject:
        """What a measurement of the cell is about."""
        return Subject(
            cell=cell.id,
            scenario=cell.scenario.id,
            workload=cell.workload.name,
            workload_hash=self.load(cell.workload).workload_hash,
            batch_size=cell.batch_size,
            k=cell.scenario.variant.k,
            model_id=cell.scenario.target.model,
        )

    def all_measured(self) -> tuple[Measured, ...]:
        """What has been measured so far, in the order it was."""
        return tuple(self._done.values())

    def _opened(self, cell: Cell) -> _Open:
        if cell.id not in self._open:
            started = datetime.now(UTC)
            arm, control = self._player(cell), self._control_player(cell)
            walls = {"arm": self._warm_up(cell)}
            if control is not None:
                walls["control"] = self._warm_up(cell.control)
            staged = self.staged_rounds(cell, cell.staged_rounds[0])
            run = CellRun(
                arm,
                control,
                self.profile.plan.rounds if cell.timed else 1,
                lambda which, record: self.watcher.round_done(cell, which, record),
            )
            self._open[cell.id] = _Open(run, started, walls, staged)
        return self._open[cell.id]

    def staged_rounds(self, cell: Cell, count: int) -> list[RoundRecord]:
        """More rounds of a staged cell, with the stage timer on. Raises as the engines do."""
        request = self.request_of(cell).model_copy(update={"stages": True})
        records = []
        for _ in range(count):
            records.append(self.engines.generate(cell.scenario, request))
            self.watcher.round_done(cell, "stages", records[-1])
        return records

    def _measure(self, cell: Cell) -> Measured:
        opened = self._open[cell.id]
        run = opened.run
        staged = [*opened.staged, *self.staged_rounds(cell, cell.staged_rounds[1])]
        info = self.engines.info(cell.scenario)
        machine, provenance = self.describe(cell.scenario, info)
        played = [*run.rounds, *staged]
        try:
            measurement = Measurement.build(
                self.subject(cell),
                run.rounds,
                run.control_rounds,
                machine=machine,
                provenance=provenance,
                started=opened.started,
                ended=datetime.now(UTC),
                timed=cell.timed,
                staged=staged,
                memory=info.memory,
                agreement=self._agreement(
                    # Where tokens repeat, all rounds equal the first, or break an identity.
                    cell,
                    played[:1] if machine.repeats_tokens else played,
                    run.control_rounds,
                ),
                order=run.order,
                warmup_walls_s=opened.warmup_walls["arm"],
                control_warmup_walls_s=opened.warmup_walls.get("control", ()),
            )
        except ValueError as error:
            raise MeasureError(str(error)) from error
        if not cell.timed:
            self._warm.setdefault(self._warm_key(cell), tuple(r.wall_s for r in run.rounds))
        broken = check_beside(
            played,
            run.control_rounds,
            cell.scenario.variant.k,
            repeats=machine.repeats_tokens,
        )
        return Measured(cell, measurement, broken)

    def _agreement(
        self, cell: Cell, rounds: Sequence[RoundRecord], control_rounds: Sequence[RoundRecord]
    ) -> Agreement | None:
        """With the control, of the worst round; None without a control."""
        if not control_rounds:
            return None
        pairs = distinct_pairs(rounds, control_rounds)
        return worst_of(self._weighed(cell, record, control) for record, control in pairs)

    def _weighed(self, cell: Cell, record: RoundRecord, control: RoundRecord) -> Agreement:
        found = compare_outputs(record, control)
        if not found.differences or self.weigh is None:
            return found
        return self.weigh(cell, found, record, control)

    def _player(self, cell: Cell) -> Play:
        """Plays the cell's round. An engine that made room in between and is started anew is warmed
        anew."""
        request = self.request_of(cell)

        def play() -> RoundRecord:
            self._warm_up(cell)
            return self.engines.generate(cell.scenario, request)

        return play

    def request_of(self, cell: Cell) -> RoundRequest:
        """A round of the cell as the profile says."""
        return RoundRequest(
            prompts=tuple(
                RoundPrompt(prompt_id=p.prompt_id, text=p.text)
                for p in self.load(cell.workload).prompts
            ),
            batch_size=cell.batch_size,
            max_tokens=cell.workload.max_tokens,
            batch_mode=self.profile.plan.batch_mode,
            temperature=self.profile.temperature,
            seed=self.profile.seed,
        )

    def _control_player(self, cell: Cell) -> Play | None:
        """Plays the control's round; where nothing is timed, the control cell's own one serves."""
        if cell.scenario.is_control:
            return None
        if cell.timed:
            return self._player(cell.control)
        return lambda: self.measured(cell.control).measurement.draftgate.rounds[0]

    def _warm_up(self, cell: Cell) -> tuple[float, ...]:
        """Warm an engine at a batch size, once a start: later cells find it warm.

        So do cells after an untimed one, whose round is as long as any.
        """
        if not cell.timed:
            return ()
        key = self._warm_key(cell)
        if key not in self._warm:
            plan, request = self.profile.plan, self.request_of(cell)

            def play_watched() -> RoundRecord:
                record = self.engines.generate(cell.scenario, request)
                self.watcher.round_done(cell, "warm-up", record)
                return record

            rounds = warm_up(play_watched, plan.warmup_max, plan.warmup_tolerance)
            self._warm[key] = tuple(r.wall_s for r in rounds)
        return self._warm[key]

    def _warm_key(self, cell: Cell) -> tuple[str, int, int]:
        return cell.scenario.id, self.engines.starts_of(cell.scenario), cell.batch_size
