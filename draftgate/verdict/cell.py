"""All verdicts of one cell: which rule judges which metric, and what moved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from draftgate.baseline.schema import ExactBaseline, TimedBaseline
from draftgate.measure.metrics import higher_is_better
from draftgate.measure.sessions import median_of
from draftgate.measure.stages import STAGES, StageSamples
from draftgate.verdict.cause import Factors
from draftgate.verdict.counted import INEXACT_ACCEPTANCE, Counted, judge_counted
from draftgate.verdict.equality import OUTPUTS_EQUAL_CONTROL, judge_equality
from draftgate.verdict.exact_cell import EXACT_METRICS
from draftgate.verdict.facts import CellFacts
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.lengths import length_shift
from draftgate.verdict.precondition import precondition
from draftgate.verdict.rule import TimedRule
from draftgate.verdict.stages import STAGE_METRICS, judge_share
from draftgate.verdict.timed import judge_timed
from draftgate.verdict.verdict import Verdict


def unit_of(metric: str) -> str:
    """``tok/s``, ``ms``, or nothing for ratios and counts."""
    if metric == "output_throughput":
        return "tok/s"
    return "ms" if metric.endswith("_ms") else ""


@dataclass(frozen=True)
class CellJudge:
    """One measured cell beside its baselines (None: there is none).

    ``broken``: identities that do not hold. ``limits``: largest tolerated relative losses by
    metric; those of the timed baseline, written by hand, win. ``can_confirm``: a reference stage
    follows (`confirm`).
    """

    facts: CellFacts
    broken: tuple[str, ...]
    exact: ExactBaseline | None
    timed: TimedBaseline | None
    limits: Mapping[str, float]
    rule: TimedRule = field(default_factory=TimedRule)
    can_confirm: bool = False

    def judge(self, metric: str) -> Verdict:
        """The verdict on ``metric``; INVALID where nothing was sampled of it.

        Raises KeyError on `OUTPUTS_EQUAL_CONTROL` of a cell without a control.
        """
        if metric == OUTPUTS_EQUAL_CONTROL:
            return self._equality()
        if metric in {m.name for m in EXACT_METRICS}:
            return self._exact(metric)
        if metric in STAGE_METRICS:
            return self._share(metric)
        return self._timed(metric)

    def factors(self, metric: str) -> Factors:
        """Which factor of throughput moved against the baselines.

        Of a speed-up the control is a part too, so that its factors need not multiply to it.
        """
        return Factors(
            self._ratio(metric) if metric == "output_throughput" else None,
            self._tokens_per_step_ratio(),
            self._ratio("step_time_ms"),
            {stage: ms for stage in STAGES if (ms := self._change(f"{stage}_ms")) is not None},
            0.0 if self.facts.repeats_tokens else INEXACT_ACCEPTANCE,
        )

    def _unjudgeable(
        self, metric: str, baseline: ExactBaseline | TimedBaseline | None, value: Any
    ) -> Verdict | None:
        return precondition(
            self.facts.cell,
            metric,
            broken=self.broken,
            workload_hash=self.facts.workload_hash,
            baseline_workload_hash=baseline.workload_hash if baseline else None,
            value=value,
            unit=unit_of(metric),
        )

    def _equality(self) -> Verdict:
        if self.facts.agreement is None:
            raise KeyError(f"{self.facts.cell} was measured without a control")
        return judge_equality(self.facts.cell, self.facts.agreement)

    def _exact(self, metric: str) -> Verdict:
        stored = Counted.stored(self.exact) if self.exact else None
        verdict = judge_counted(self.facts, metric, stored, self.limits, self.rule)
        return self._unjudgeable(metric, self.exact, verdict.value) or verdict

    def _timed(self, metric: str) -> Verdict:
        facts, samples = self.facts, self.facts.timed.get(metric)
        if samples is None:
            return self._unsampled(metric)
        value = facts.median(metric)
        if verdict := self._unjudgeable(metric, self.timed, value) or self._other_texts(metric):
            return verdict
        assert self.timed is not None
        stored = self.timed.metrics.get(metric)
        limit = self._limit(metric)
        if limit is None:  # reported, not judged
            return Verdict(facts.cell, metric, VerdictKind.OK, value, n=sum(map(len, samples)))
        return judge_timed(
            facts.cell,
            metric,
            samples,
            stored.samples if stored else None,
            limit,
            higher_is_better(metric),
            unit=unit_of(metric),
            cause=self.factors(metric).text(),
            can_confirm=self.can_confirm,
            rule=self.rule,
        )

    def _share(self, metric: str) -> Verdict:
        cell, stage, measured = self.facts.cell, STAGE_METRICS[metric], self._stages_now()
        if stage not in measured:
            return self._unsampled(metric)
        medians = {name: median_of(samples) for name, samples in measured.items()}
        share = medians[stage] / sum(medians.values())
        if verdict := self._unjudgeable(metric, self.timed, share):
            return verdict
        limit = self._limit(metric)
        if limit is None:  # reported, not judged
            return Verdict(cell, metric, VerdictKind.OK, share)
        return judge_share(cell, stage, measured, self._stages_before(), limit, self.rule)

    def _unsampled(self, metric: str) -> Verdict:
        evidence = "no samples: outputs too short, or an engine that does not tell"
        return Verdict(self.facts.cell, metric, VerdictKind.INVALID, evidence=evidence)

    def _limit(self, metric: str) -> float | None:
        return {**self.limits, **(self.timed.limits if self.timed else {})}.get(metric)

    def _stages_now(self) -> StageSamples:
        timed = self.facts.timed
        return {s: timed[f"{s}_ms"] for s in STAGES if f"{s}_ms" in timed}

    def _stages_before(self) -> StageSamples:
        stored = self.timed.metrics if self.timed else {}
        return {s: stored[f"{s}_ms"].samples for s in STAGES if f"{s}_ms" in stored}

    def _other_texts(self, metric: str) -> Verdict | None:
        """The texts that were timed, else those whose tokens are stored."""
        stored = self.timed.output_tokens if self.timed else None
        if stored is None and self.exact is not None:
            stored = self.exact.metrics.output_tokens
        return length_shift(
            self.facts.cell,
            metric,
            self.facts.exact.output_tokens,
            stored,
            parting=self.facts.parting,
            value=self.facts.median(metric),
            unit=unit_of(metric),
        )

    def _ratio(self, metric: str) -> float | None:
        now, before = self.facts.median(metric), self._stored(metric)
        return now / before if now and before else None

    def _change(self, metric: str) -> float | None:
        now, before = self.facts.median(metric), self._stored(metric)
        return None if now is None or before is None else now - before

    def _stored(self, metric: str) -> float | None:
        stored = self.timed.metrics.get(metric) if self.timed else None
        return stored.median if stored else None

    def _tokens_per_step_ratio(self) -> float | None:
        now = self.facts.exact.tokens_per_step
        before = self.exact.metrics.tokens_per_step if self.exact else None
        return now / before if now and before else None
