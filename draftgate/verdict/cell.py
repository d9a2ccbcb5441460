"""All verdicts of one cell: which rule judges which metric, and what moved."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from draftgate.baseline.schema import ExactBaseline, TimedBaseline
from draftgate.measure.metrics import higher_is_better
from draftgate.measure.record import Measurement
from draftgate.measure.stages import STAGES
from draftgate.verdict.cause import explain
from draftgate.verdict.equality import OUTPUTS_EQUAL_CONTROL, judge_equality
from draftgate.verdict.exact_cell import EXACT_METRICS, judge_exact_cell
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.precondition import precondition
from draftgate.verdict.stages import STAGE_METRICS, StageSamples, judge_share, stage_changes
from draftgate.verdict.timed import judge_timed
from draftgate.verdict.verdict import Verdict

UNITS = {"output_throughput": "tok/s", "speedup": ""}


@dataclass(frozen=True)
class CellJudge:
    """One measured cell beside its baselines (None: there is none).

    ``broken``: identities that do not hold. ``limits``: largest tolerated relative losses by
    metric; those of the timed baseline, written by hand, win.
    """

    measurement: Measurement
    broken: tuple[str, ...]
    exact: ExactBaseline | None
    timed: TimedBaseline | None
    limits: Mapping[str, float]

    def judge(self, metric: str) -> Verdict:
        """The verdict on ``metric``. Raises KeyError on a metric that the cell does not have."""
        if metric == OUTPUTS_EQUAL_CONTROL:
            return self._equality()
        if metric in {m.name for m in EXACT_METRICS}:
            return self._exact(metric)
        if metric in STAGE_METRICS:
            return self._share(metric)
        return self._timed(metric)

    @property
    def _cell(self) -> str:
        return self.measurement.draftgate.subject.cell

    def _unjudgeable(
        self, metric: str, baseline: ExactBaseline | TimedBaseline | None, value: Any
    ) -> Verdict | None:
        return precondition(
            self._cell,
            metric,
            broken=self.broken,
            workload_hash=self.measurement.draftgate.subject.workload_hash,
            baseline_workload_hash=baseline.workload_hash if baseline else None,
            value=value,
            unit=UNITS.get(metric, ""),
        )

    def _equality(self) -> Verdict:
        agreement = self.measurement.draftgate.outputs_equal_control
        if agreement is None:
            raise KeyError(f"{self._cell} was measured without a control")
        return judge_equality(self._cell, agreement)

    def _exact(self, metric: str) -> Verdict:
        counts = self.measurement.draftgate.exact.model_dump()
        stored = self.exact.metrics.model_dump() if self.exact else None
        verdicts = {v.metric: v for v in judge_exact_cell(self._cell, counts, stored)}
        verdict = verdicts.get(metric) or Verdict(self._cell, metric, VerdictKind.OK, limit=0.0)
        return self._unjudgeable(metric, self.exact, verdict.value) or verdict

    def _timed(self, metric: str) -> Verdict:
        samples = self.measurement.draftgate.timed[metric]
        value = statistics.median(samples)
        if verdict := self._unjudgeable(metric, self.timed, value):
            return verdict
        assert self.timed is not None
        stored = self.timed.metrics.get(metric)
        limit = self._limit(metric)
        if limit is None:  # reported, not judged
            return Verdict(self._cell, metric, VerdictKind.OK, value, n=len(samples))
        return judge_timed(
            self._cell,
            metric,
            [samples],
            stored.samples if stored else None,
            limit,
            higher_is_better(metric),
            unit=UNITS.get(metric, ""),
            cause=self._cause(metric),
        )

    def _share(self, metric: str) -> Verdict:
        stage, measured = STAGE_METRICS[metric], self._stages_now()
        if stage not in measured:
            raise KeyError(f"{self._cell} has no time of stage {stage}")
        total = sum(statistics.median(measured[name][0]) for name in measured)
        share = statistics.median(measured[stage][0]) / total
        if verdict := self._unjudgeable(metric, self.timed, share):
            return verdict
        limit = self._limit(metric)
        if limit is None:  # reported, not judged
            return Verdict(self._cell, metric, VerdictKind.OK, share)
        return judge_share(self._cell, stage, measured, self._stages_before(), limit)

    def _limit(self, metric: str) -> float | None:
        return {**self.limits, **(self.timed.limits if self.timed else {})}.get(metric)

    def _stages_now(self) -> StageSamples:
        timed = self.measurement.draftgate.timed
        return {s: [timed[f"{s}_ms"]] for s in STAGES if f"{s}_ms" in timed}

    def _stages_before(self) -> StageSamples:
        stored = self.timed.metrics if self.timed else {}
        return {s: stored[f"{s}_ms"].samples for s in STAGES if f"{s}_ms" in stored}

    def _cause(self, metric: str) -> str:
        """Which factor of throughput moved against the baselines.

        Of a speed-up the control is a part too, so that its factors need not multiply to it.
        """
        throughput = self._ratio(metric) if metric == "output_throughput" else None
        return explain(
            throughput,
            self._tokens_per_step_ratio(),
            self._ratio("step_time_ms"),
            stage_changes(self._stages_now(), self._stages_before()),
        )

    def _ratio(self, metric: str) -> float | None:
        samples = self.measurement.draftgate.timed.get(metric)
        stored = self.timed.metrics.get(metric) if self.timed else None
        return statistics.median(samples) / stored.median if samples and stored else None

    def _tokens_per_step_ratio(self) -> float | None:
        now = self.measurement.draftgate.exact.tokens_per_step
        before = self.exact.metrics.tokens_per_step if self.exact else None
        return now / before if now and before else None
