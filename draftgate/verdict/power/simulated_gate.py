"""Gates on a simulated engine: screen against a baseline, Bonferroni, paired confirmation.

Drawn are the speeds (`LEVEL`), judged as strictly as the profile's other noisy comparisons ask for;
stages' shares, and acceptance where tokens need not repeat, are not drawn.
The rules are those of real gates (`CellJudge`, `settle_timed`); only the numbers are drawn. What
decides is the last test, the pairs beside a reference or else the screening: a cell that it
estimates within its limit cannot be red, so it is not sent through. The test of this module sends
all and finds the same gates red.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from draftgate.baseline.schema import ExactBaseline, StoredSamples, TimedBaseline
from draftgate.measure.exact import ExactMetrics
from draftgate.measure.sessions import Sessions
from draftgate.profile.cells import Cell
from draftgate.profile.model import Profile
from draftgate.verdict.cause import Factors
from draftgate.verdict.cell import CellJudge
from draftgate.verdict.exact_cell import EXACT_METRICS
from draftgate.verdict.facts import CellFacts
from draftgate.verdict.family import manifest_comparisons, rule_of
from draftgate.verdict.kinds import FailurePolicy
from draftgate.verdict.noise import log_gain
from draftgate.verdict.paired import PairedSessions
from draftgate.verdict.power.engine_noise import EngineNoise
from draftgate.verdict.power.fault import Fault, FaultError, FaultKind
from draftgate.verdict.power.speeds import Array, Speeds, draw, session_estimate
from draftgate.verdict.reference import settle_timed, wants_pairs
from draftgate.verdict.rule import TimedRule
from draftgate.verdict.verdict import Verdict

WORKLOAD = "0" * 64
LEVEL = {"output_throughput": 1000.0, "speedup": 1.5}
ROUNDING = 1e-3  # of stored baselines, four digits


@dataclass(frozen=True)
class Design:
    """How a gate is run.

    The baseline holds ``baseline_sessions``, one as `--update-baselines` stores it. A suspect is
    confirmed by ``confirm_pairs`` pairs in each of ``confirm_sessions`` starts of candidate and
    reference, not at all without ``reference``. The first ``hit`` drafting cells carry the fault.
    """

    baseline_sessions: int = 1
    rounds: int = 5
    confirm_sessions: int = 1
    confirm_pairs: int = 10
    reference: bool = True
    hit: int = 1


@dataclass(frozen=True)
class Outcome:
    """One gate. ``cause_right``: a cell with the fault is red and names it."""

    red: bool
    cause_right: bool


@dataclass(frozen=True)
class SimulatedGate:
    """Gates of a profile whose candidate carries ``fault``."""

    profile: Profile
    noise: EngineNoise
    fault: Fault
    design: Design = Design()
    send_all: bool = False

    def run(self, gates: int, seed: int) -> list[Outcome]:
        """Independent gates. Raises FaultError where there is no cell to hit or to judge."""
        random = np.random.default_rng(seed)
        self._require_cells()
        baseline, candidate = (
            draw(random, self.noise, self._controls, gates, sessions, self.design.rounds)
            for sessions in (self.design.baseline_sessions, 1)
        )
        candidate = self._slowed(candidate)
        draws = _Draws(baseline, candidate)
        return [self._outcome(_Draw(draws, gate), random) for gate in range(gates)]

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The profile's timed cells."""
        return tuple(cell for cell in self.profile.cells() if cell.timed)

    @cached_property
    def _controls(self) -> np.ndarray:
        index = {cell.id: i for i, cell in enumerate(self.cells)}
        return np.array([index[cell.control.id] for cell in self.cells], dtype=int)

    @cached_property
    def _hit(self) -> tuple[int, ...]:
        drafting = [i for i, cell in enumerate(self.cells) if not cell.scenario.is_control]
        return tuple(drafting[: self.design.hit])

    @cached_property
    def _comparisons(self) -> tuple[tuple[int, str], ...]:
        index = {cell.id: i for i, cell in enumerate(self.cells)}
        return tuple(
            (index[cell], metric)
            for cell, metric in manifest_comparisons(self.profile)
            if metric in LEVEL
        )

    @property
    def comparisons(self) -> int:
        """How many are drawn in each gate."""
        return len(self._comparisons)

    @cached_property
    def rule(self) -> TimedRule:
        """The profile's, on the hardware that it is for."""
        return rule_of(self.profile, repeats_tokens=self._repeats_tokens)

    @property
    def _repeats_tokens(self) -> bool:
        """A profile that tolerates acceptance is for a GPU."""
        return not self.profile.tolerances.stated()

    def _require_cells(self) -> None:
        if self.fault.kind is FaultKind.ACCEPTANCE and not self._repeats_tokens:
            raise FaultError(
                f"profile {self.profile.name!r} tolerates acceptance that moves ([tolerances]: its "
                "hardware need not repeat tokens), and that is not simulated: take a profile for "
                "a CPU"
            )
        if not self._comparisons:
            raise FaultError(
                f"profile {self.profile.name!r} judges no speed: it has no timed cell, or no limit "
                f"of {' or '.join(LEVEL)}"
            )
        if not self._hit:
            raise FaultError(f"profile {self.profile.name!r} has no timed cell that drafts")

    def _slowed(self, candidate: Speeds) -> Speeds:
        slow = np.zeros(len(self.cells))
        slow[list(self._hit)] = self.fault.log_slowdown
        shaped = slow[None, :, None, None]
        return replace(
            candidate,
            throughput=candidate.throughput - shaped,
            speedup=candidate.speedup - shaped,
        )

    def _outcome(self, drawn: _Draw, random: np.random.Generator) -> Outcome:
        red = list(self._exact_reds)
        pairs = self._pairs(drawn, random) if self.design.reference else None
        for cell, metric, paired in self._sent(drawn, pairs):
            verdict, factors = self._judged(drawn, cell, metric, paired)
            if verdict.fails(FailurePolicy(suspect=self.design.reference)):
                red.append((cell, factors))
        right = any(cell in self._hit and self.fault.named_by(factors) for cell, factors in red)
        return Outcome(bool(red), right)

    def _sent(
        self, drawn: _Draw, pairs: _Pairs | None
    ) -> Iterator[tuple[int, str, PairedSessions]]:
        """The comparisons that may be red, each with its pairs."""
        limits = self.profile.limits.stated()
        for index, (cell, metric) in enumerate(self._comparisons):
            moved = drawn.moved(cell, metric) if pairs is None else pairs.moved(index)
            if self.send_all or moved < log_gain(-limits[metric], True) + ROUNDING:
                yield cell, metric, () if pairs is None else pairs.sessions(index)

    def _judged(
        self, drawn: _Draw, cell: int, metric: str, paired: PairedSessions
    ) -> tuple[Verdict, Factors]:
        judge = self._judge(cell, drawn.samples(cell, baseline=False), drawn.samples(cell))
        screened = judge.judge(metric)
        factors = judge.factors(metric)
        if not (self.design.reference and wants_pairs(screened)):
            return screened, factors
        limit = self.profile.limits.stated()[metric]
        verdict = settle_timed(screened, paired, limit, True, rule=judge.rule, cause=factors.text())
        return verdict, factors

    def _judge(
        self, cell: int, now: Mapping[str, Sessions], stored: Mapping[str, Sessions]
    ) -> CellJudge:
        exact = _exact(self.cells[cell])
        spoiled = self.fault.spoil(exact) if cell in self._hit else exact
        return CellJudge(
            CellFacts(self.cells[cell].id, WORKLOAD, spoiled, now),
            (),
            ExactBaseline.model_validate(
                {"workload_hash": WORKLOAD, "metrics": exact.model_dump()}
            ),
            TimedBaseline(
                workload_hash=WORKLOAD,
                metrics={name: StoredSamples.of(samples) for name, samples in stored.items()},
            ),
            self.profile.limits.stated(),
            self.rule,
            can_confirm=self.design.reference,
        )

    @cached_property
    def _exact_reds(self) -> tuple[tuple[int, Factors], ...]:
        """Exact metrics have no noise: what is red in them is so in every gate."""
        return tuple(self._failing_exact())

    def _failing_exact(self) -> Iterator[tuple[int, Factors]]:
        quiet = {"output_throughput": [[LEVEL["output_throughput"]] * 3]}
        for cell in range(len(self.cells)):
            judge = self._judge(cell, quiet, quiet)
            if any(judge.judge(metric.name).fails() for metric in EXACT_METRICS):
                yield cell, judge.factors("output_throughput")

    def _pairs(self, drawn: _Draw, random: np.random.Generator) -> _Pairs:
        """Rounds of candidate and reference beside each other; the machine's shift hits both.

        A single start of the candidate's is the one that was screened: its engine is still there.
        """
        design, found = self.design, self._comparisons
        engines = np.array([_engines(metric) for _, metric in found])[:, None, None]
        slow = [self.fault.log_slowdown if cell in self._hit else 0.0 for cell, _ in found]
        level = np.array([self._level(drawn, metric) for _, metric in found])[:, None, None]
        starts = (len(found), design.confirm_sessions, 1)
        rounds = (len(found), design.confirm_sessions, design.confirm_pairs)

        def side() -> tuple[Array, Array]:
            shifts = random.normal(0, self.noise.session_sd, starts) * engines
            return shifts, random.normal(0, self.noise.round_sd, rounds) * engines

        (ours, our_rounds), (theirs, their_rounds) = side(), side()
        if design.confirm_sessions == 1:
            ours[:, 0, 0] = [self._screened_start(drawn, cell, metric) for cell, metric in found]
        candidate = level - np.array(slow)[:, None, None] + ours + our_rounds
        return _Pairs(candidate, level + theirs + their_rounds)

    def _level(self, drawn: _Draw, metric: str) -> float:
        shift = drawn.machine_shift if metric == "output_throughput" else 0.0
        return math.log(LEVEL[metric]) + shift

    def _screened_start(self, drawn: _Draw, cell: int, metric: str) -> float:
        shift = drawn.start(cell)
        return shift - drawn.start(int(self._controls[cell])) if metric == "speedup" else shift


@dataclass(frozen=True)
class _Pairs:
    """Logs of one gate's pairs: [comparisons, starts, pairs] of either side."""

    candidate: Array
    reference: Array

    def moved(self, comparison: int) -> float:
        """Mean log ratio."""
        return float(np.mean(self.candidate[comparison] - self.reference[comparison]))

    def sessions(self, comparison: int) -> PairedSessions:
        """As `settle_timed` takes them."""
        sides = np.exp([self.candidate[comparison], self.reference[comparison]])
        return [list(zip(*both, strict=True)) for both in zip(*sides.tolist(), strict=True)]


@dataclass(frozen=True)
class _Draws:
    """The drawn speeds of all gates."""

    baseline: Speeds
    candidate: Speeds

    @cached_property
    def moved(self) -> dict[str, Array]:
        """Log ratios by the screening's estimates, metric -> [gates, cells]."""
        return {
            metric: session_estimate(_logs(self.candidate, metric))
            - session_estimate(_logs(self.baseline, metric))
            for metric in LEVEL
        }


@dataclass(frozen=True)
class _Draw:
    """One gate of the drawn speeds."""

    draws: _Draws
    gate: int

    def moved(self, cell: int, metric: str) -> float:
        """Log ratio by the screening's estimates."""
        return float(self.draws.moved[metric][self.gate, cell])

    @property
    def machine_shift(self) -> float:
        """Of the candidate's session."""
        return float(self.draws.candidate.machine[self.gate, 0])

    def start(self, cell: int) -> float:
        """Shift of the candidate's process start."""
        return float(self.draws.candidate.start[self.gate, cell, 0])

    def samples(self, cell: int, *, baseline: bool = True) -> dict[str, Sessions]:
        """Every timed metric of a cell, sessions of rounds."""
        side = self.draws.baseline if baseline else self.draws.candidate
        found: dict[str, Sessions] = {
            metric: (level * np.exp(_logs(side, metric)[self.gate, cell])).tolist()
            for metric, level in LEVEL.items()
        }
        found["step_time_ms"] = [[1e6 / value for value in s] for s in found["output_throughput"]]
        return found


def _engines(metric: str) -> float:
    """What the noise of two engines is to that of one."""
    return math.sqrt(2) if metric == "speedup" else 1.0


def _logs(speeds: Speeds, metric: str) -> Array:
    return speeds.throughput if metric == "output_throughput" else speeds.speedup


def _exact(cell: Cell) -> ExactMetrics:
    """Counts of a cell that drafts k tokens a step and loses half of them at each position."""
    k, drafts = cell.scenario.variant.k, 4096
    per_position = tuple(drafts >> (i + 1) for i in range(k))
    accepted = sum(per_position)
    tokens = drafts + accepted
    steps = drafts if k else tokens
    acceptance = {
        "num_drafts": drafts,
        "draft_tokens": k * drafts,
        "accepted_tokens": accepted,
        "accepted_per_position": per_position,
    }
    return ExactMetrics.model_validate(
        {
            "outputs_hash": WORKLOAD,
            "output_tokens": tokens,
            "decode_tokens": tokens,
            "decode_steps": steps,
            **(acceptance if k else {}),
        }
    )
