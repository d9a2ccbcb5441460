"""What ``--perf-reference`` does: verdicts are settled by another environment's vLLM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from draftgate.engine.errors import EngineError
from draftgate.measure.metrics import higher_is_better
from draftgate.measure.pairs import MetricPairs, Pairs, median_ratio, speedup_pairs
from draftgate.measure.reference import twin
from draftgate.measure.session import MeasureError
from draftgate.verdict.cause import Factors
from draftgate.verdict.counted import Counted, judge_counted
from draftgate.verdict.equality import OUTPUTS_EQUAL_CONTROL
from draftgate.verdict.exact_cell import EXACT_METRICS
from draftgate.verdict.facts import CellFacts
from draftgate.verdict.lengths import length_shift
from draftgate.verdict.reference import (
    one_sided,
    settle_exact,
    settle_share,
    settle_timed,
    wants_pairs,
)
from draftgate.verdict.rule import TimedRule
from draftgate.verdict.stages import STAGE_METRICS, judge_share
from draftgate.verdict.verdict import Verdict

if TYPE_CHECKING:
    from draftgate.engine.interpreter import Interpreter
    from draftgate.measure.reference import Reference
    from draftgate.measure.session import Measured
    from draftgate.profile.cells import Cell
    from draftgate.reporting.results_folder import ResultsFolder

_EXACT = frozenset(metric.name for metric in EXACT_METRICS)


@dataclass
class ReferenceStage:
    """Measures on the reference what a verdict needs, when it needs it.

    ``limits``: largest tolerated relative losses by metric.
    """

    reference: Reference
    interpreter: Interpreter
    limits: Mapping[str, float]
    rule: TimedRule = field(default_factory=TimedRule)
    _failures: dict[str, Verdict] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Such as ``vllm 0.31.0``."""
        return f"vllm {self.interpreter.vllm}"

    def settle(self, measured: Measured, screened: Verdict) -> Verdict:
        """The verdict, given what the reference shows; as it was where that does not run.

        Raises MeasureError where the reference's own rounds break an identity.
        """
        cell, metric = measured.cell, screened.metric
        if metric == OUTPUTS_EQUAL_CONTROL:  # losslessness is not relative to a version
            return screened
        try:
            if metric in _EXACT:
                return settle_exact(screened, self._against(measured, metric))
            return self._settle_noisy(measured, screened)
        except EngineError as error:
            if error.label not in (twin(s).id for s in (cell.scenario, cell.scenario.control)):
                raise  # an engine under test died beside the reference
            if self.reference.ran(cell):  # so this is no word on whether it runs there
                raise MeasureError(f"{cell.id}: on {self.name}: {error.summary}") from error
            self._note(one_sided(cell.id, "", error.summary, self.name))
            return screened

    def explain(self, cell: Cell, error: EngineError) -> Verdict | None:
        """What a failing engine under test means, given whether the reference's runs."""
        try:
            self.reference.measured(cell)
            theirs = ""
        except EngineError as other:
            theirs = other.summary
        except MeasureError as other:
            theirs = str(other)
        return one_sided(cell.id, error.summary, theirs, self.name)

    def one_sided(self) -> tuple[Verdict, ...]:
        """Cells that do not run on the reference, a verdict each."""
        return tuple(self._failures.values())

    def summary(self) -> str:
        """What was done with the reference, in a line."""
        exact, timed = len(self.reference.compared()), len(self.reference.all_pairs())
        missing = f", {len(self._failures)} do not run there" if self._failures else ""
        return (
            f"reference: {self.name} at {self.interpreter.executable}; cells compared in exact "
            f"metrics: {exact}, timed in {self._design()}: {timed}{missing}"
        )

    def facts(self) -> dict[str, Any]:
        """For `run.json`: whose vLLM the reference is."""
        return {
            **self.interpreter.model_dump(mode="json", include={"executable", "python"}),
            **self.interpreter.packages,
            "pairs": self.reference.wanted,
            "starts": self.reference.starts,
        }

    def write(self, folder: ResultsFolder) -> None:
        """Keep what was measured on the reference. Raises ResultsError."""
        for measured in self.reference.compared():
            folder.reference.write_cell(measured.measurement)
        for cell, starts in self.reference.all_pairs().items():
            folder.write_pairs(cell, [pairs.metrics() for pairs in starts])

    def _design(self) -> str:
        starts = self.reference.starts
        return f"{self.reference.wanted} pairs" + (f" of {starts} starts" if starts > 1 else "")

    def _settle_noisy(self, measured: Measured, screened: Verdict) -> Verdict:
        limit = screened.limit or self.limits.get(screened.metric)
        if limit is None or not wants_pairs(screened):
            return screened
        if screened.metric in STAGE_METRICS:
            return self._settle_share(measured.cell, screened, limit)
        return self._settle_timed(measured, screened, limit)

    def _settle_timed(self, measured: Measured, screened: Verdict, limit: float) -> Verdict:
        cell, metric = measured.cell, screened.metric
        starts = self.reference.pairs(cell)
        parting = CellFacts.of(measured.measurement).parting
        if shifted := _other_texts(screened, starts[0], parting):
            return shifted
        return settle_timed(
            screened,
            self._values(cell, metric, starts),
            limit,
            higher_is_better(metric),
            rule=self.rule,
            cause=_cause(metric, starts),
        )

    def _settle_share(self, cell: Cell, screened: Verdict, limit: float) -> Verdict:
        ours, theirs = self.reference.stages(cell)
        stage = STAGE_METRICS[screened.metric]
        if stage not in ours:
            raise MeasureError(f"{cell.id}: no time of stage {stage} beside the reference")
        return settle_share(screened, judge_share(cell.id, stage, ours, theirs, limit, self.rule))

    def _values(self, cell: Cell, metric: str, starts: Sequence[Pairs]) -> list[MetricPairs]:
        if metric == "speedup":
            controls = self.reference.pairs(cell.control)
            return list(map(speedup_pairs, starts, controls))
        return [pairs.of(metric) for pairs in starts]

    def _against(self, measured: Measured, metric: str) -> Verdict:
        beside = self.reference.measured(measured.cell)
        if beside.faults:
            raise MeasureError(f"on {self.name}: {beside.faults[0]}")
        ours, theirs = map(CellFacts.of, (measured.measurement, beside.measurement))
        other = Counted(theirs.exact, theirs.by_prompt)
        return judge_counted(ours, metric, other, self.limits, self.rule.for_pairs())

    def _note(self, verdict: Verdict | None) -> None:
        if verdict is not None:
            self._failures.setdefault(verdict.cell, verdict)


def _other_texts(screened: Verdict, pairs: Pairs, parting: int) -> Verdict | None:
    """STALE where the two sides wrote texts of other lengths."""
    return length_shift(
        screened.cell,
        screened.metric,
        pairs.rounds[0].generated_tokens,
        pairs.reference_rounds[0].generated_tokens,
        parting=parting,
        value=screened.value,
        unit=screened.unit,
    )


def _cause(metric: str, starts: Sequence[Pairs]) -> str:
    """Which factor of throughput differs between the two sides."""
    throughput = median_ratio(starts, metric) if metric == "output_throughput" else None
    step_time = median_ratio(starts, "step_time_ms")
    return Factors(throughput, starts[0].tokens_per_step_ratio(), step_time).text()
