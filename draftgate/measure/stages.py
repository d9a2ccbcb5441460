"""The ``draftgate.stages`` block of a measurement: where a step's time goes, by class of step."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Literal

from draftgate.engine.records import Record, RoundRecord, StageSteps
from draftgate.measure.sessions import Sessions

STAGES = ("draft", "verify", "sample", "overhead")

SAMPLE_GROUPS = 3
"""Samples that a round's decode steps make of each stage's time: step i goes to group i mod 3, so
that every group sees the whole round (steps grow dearer as the cache fills)."""

StepClass = Literal["decode", "mixed", "prefill"]


StageSamples = Mapping[str, Sessions]
"""Stage -> milliseconds a decode step: a sequence a session, a value a group of steps."""


class StageClass(Record):
    """Means over the steps of one class; ``*_ms`` milliseconds a step."""

    steps: int
    step_ms: float
    draft_ms: float
    verify_ms: float
    sample_ms: float
    overhead_ms: float
    requests: float
    batched_tokens: float
    kv_tokens: float
    drafted_tokens: float


class Stages(Record):
    """Extra rounds of a cell with the stage timer on; no other number is taken from them.

    ``wall_s``: their wall time. ``shares``: of the rounds' step time, by stage. ``classes``: steps
    that only decode, that only read prompts (``prefill``), and that do both (``mixed``); a class
    without steps is absent. ``steps``: the columns, one round after another. ``round_steps``: steps
    of each round; empty in files of before there were several.
    """

    schema_version: Literal[1] = 1
    wall_s: float
    shares: dict[str, float]
    classes: dict[StepClass, StageClass]
    steps: StageSteps
    round_steps: tuple[int, ...] = ()

    @classmethod
    def of(cls, *records: RoundRecord) -> Stages | None:
        """Of rounds with stage times; None where there is none, or no step."""
        timed = [(r.wall_s, r.stages) for r in records if r.stages and r.stages.step_ms]
        if not timed:
            return None
        steps = StageSteps.joined([stages for _, stages in timed])
        total = sum(steps.step_ms)
        by_class = _indices_by_class(steps)
        return cls(
            wall_s=sum(wall_s for wall_s, _ in timed),
            shares={stage: sum(_column(steps, stage)) / total for stage in STAGES},
            classes={name: _mean_of(steps, rows) for name, rows in by_class.items()},
            steps=steps,
            round_steps=tuple(len(stages.step_ms) for _, stages in timed),
        )

    def samples(self) -> dict[str, tuple[float, ...]]:
        """``{stage}_ms`` -> mean milliseconds a decode step, one value a group of steps of a round.

        A stage that takes no time (drafting, where there is none) is absent; so are all of them
        where a group would be empty.
        """
        decode = _indices_by_class(self.steps).get("decode", [])
        by_round = [[row for row in decode if row in rows] for rows in self._rows_by_round()]
        if any(len(rows) < SAMPLE_GROUPS for rows in by_round):
            return {}
        groups = [rows[start::SAMPLE_GROUPS] for rows in by_round for start in range(SAMPLE_GROUPS)]
        columns = {f"{stage}_ms": _column(self.steps, stage) for stage in STAGES}
        return {
            name: tuple(statistics.fmean(column[i] for i in group) for group in groups)
            for name, column in columns.items()
            if all(sum(column[i] for i in group) > 0 for group in groups)
        }

    def shares_by_round(self, stage: str) -> tuple[float, ...]:
        """The stage's share of each round's step time."""
        column, total = _column(self.steps, stage), self.steps.step_ms
        return tuple(
            sum(column[row] for row in rows) / sum(total[row] for row in rows)
            for rows in self._rows_by_round()
        )

    def _rows_by_round(self) -> list[range]:
        lengths = self.round_steps or (len(self.steps.step_ms),)
        ends = list(accumulate(lengths))
        return [range(end - length, end) for end, length in zip(ends, lengths, strict=True)]


def stage_samples(*records: RoundRecord) -> StageSamples:
    """Of one session's rounds; empty without stage times."""
    stages = Stages.of(*records)
    samples = stages.samples() if stages else {}
    return {name.removesuffix("_ms"): [values] for name, values in samples.items()}


def step_class(steps: StageSteps, row: int) -> StepClass:
    """Whether a step read prompts, and nothing else."""
    prefill = steps.prefill_tokens[row]
    if not prefill:
        return "decode"
    return "prefill" if prefill == steps.batched_tokens[row] else "mixed"


def _indices_by_class(steps: StageSteps) -> dict[StepClass, list[int]]:
    found: dict[StepClass, list[int]] = {}
    for row in range(len(steps.step_ms)):
        found.setdefault(step_class(steps, row), []).append(row)
    return dict(sorted(found.items()))


def _column(steps: StageSteps, stage: str) -> tuple[float, ...]:
    column: tuple[float, ...] = getattr(steps, f"{stage}_ms")
    return column


def _mean_of(steps: StageSteps, rows: Sequence[int]) -> StageClass:
    names = [name for name in StageClass.model_fields if name != "steps"]
    return StageClass.model_validate(
        {"steps": len(rows), **{name: _mean(getattr(steps, name), rows) for name in names}}
    )


def _mean(column: Sequence[float], rows: Sequence[int]) -> float:
    return statistics.fmean(column[row] for row in rows)
