"""Two recorded runs, cell by cell: the candidate is judged as if the other were its baseline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import ValidationError

from draftgate.baseline.schema import ExactBaseline, StoredSamples, TimedBaseline
from draftgate.measure.per_prompt import LIMITS
from draftgate.verdict.cell import CellJudge, unit_of
from draftgate.verdict.equality import OUTPUTS_EQUAL_CONTROL
from draftgate.verdict.exact_cell import EXACT_METRICS
from draftgate.verdict.family import rejected
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.recorded import Recorded
from draftgate.verdict.rule import TimedRule
from draftgate.verdict.verdict import Verdict

MEASUREMENT = "measurement"

DEFAULT_LIMITS: Mapping[str, float] = {
    "output_throughput": 0.05,
    "speedup": 0.05,
    **LIMITS,
}
"""Largest tolerated relative losses where nobody states others; those of acceptance hold where it
is not exact."""

RED = frozenset({VerdictKind.REGRESSED, VerdictKind.IMPLAUSIBLE})
INCOMPLETE = frozenset({VerdictKind.INVALID, VerdictKind.STALE, VerdictKind.UNBASELINED})


def compare_runs(
    baseline: Mapping[str, Recorded],
    candidate: Mapping[str, Recorded],
    limits: Mapping[str, float],
    rule: TimedRule,
) -> list[Verdict]:
    """Verdicts on ``candidate``; Holm over all noisy comparisons of both runs together.

    A cell of one side only is INVALID or UNBASELINED, a line like any other.
    """
    pairs = [(cell, baseline.get(cell), candidate.get(cell)) for cell in {**baseline, **candidate}]
    family = sum(len(_noisy(before, after, limits)) for _, before, after in pairs)
    strict = replace(rule, family_size=max(1, family))
    verdicts = [
        verdict
        for cell, before, after in pairs
        for verdict in _Comparison(cell, before, after, limits, strict).verdicts()
    ]
    return step_down(verdicts, rule.family_alpha)


def step_down(verdicts: Sequence[Verdict], alpha: float) -> list[Verdict]:
    """Holm's further steps: a suspect that they reject is REGRESSED, as all p are known here."""
    found = {(v.cell, v.metric): v.p for v in verdicts if v.p is not None}
    family = [(v.cell, v.metric) for v in verdicts if not v.exact]
    significant = rejected(found, family, alpha)
    return [
        replace(v, verdict=VerdictKind.REGRESSED, evidence="")
        if v.verdict is VerdictKind.SUSPECT and (v.cell, v.metric) in significant
        else v
        for v in verdicts
    ]


def exit_code(verdicts: Sequence[Verdict]) -> int:
    """2: a regression; 3: a cell without answer, or none at all; 0: no regression.

    A metric with too few samples is no gap where another of its cell was weighed.
    """
    if any(v.verdict in RED and v.fails() for v in verdicts):
        return 2
    weighed = {v.cell for v in verdicts if v.p is not None}
    gaps = [
        v
        for v in verdicts
        if v.verdict in INCOMPLETE
        or (v.verdict is VerdictKind.UNDERPOWERED and v.cell not in weighed)
    ]
    return 3 if gaps or not verdicts else 0


def _noisy(
    before: Recorded | None, after: Recorded | None, limits: Mapping[str, float]
) -> list[str]:
    """The metrics of a cell that are compared with their noise."""
    if before is None or after is None:
        return []
    timed = before.facts.timed.keys() & after.facts.timed.keys()
    tolerances = () if after.exact_against(before) else after.facts.by_prompt.keys()
    return [metric for metric in limits if metric in timed or metric in tolerances]


@dataclass(frozen=True)
class _Comparison:
    """One cell; None where a side lacks it."""

    cell: str
    before: Recorded | None
    after: Recorded | None
    limits: Mapping[str, float]
    rule: TimedRule

    def verdicts(self) -> Iterator[Verdict]:
        if self.before is None or self.after is None:
            yield self._one_sided()
            return
        try:
            judge = self._judge(self.before, self.after)
        except ValidationError as error:
            problem = error.errors()[0]
            evidence = f"the first run cannot be a baseline: {problem['loc']}: {problem['msg']}"
            yield Verdict(self.cell, MEASUREMENT, VerdictKind.INVALID, evidence=evidence)
            return
        yield from self._acceptance(judge, self.before, self.after)
        yield from self._timed(judge, self.before, self.after)

    def _one_sided(self) -> Verdict:
        if self.after is None:
            evidence = "measured in the first run only: the second lost it"
            return Verdict(self.cell, MEASUREMENT, VerdictKind.INVALID, evidence=evidence)
        evidence = "measured in the second run only: nothing to compare with"
        return Verdict(self.cell, MEASUREMENT, VerdictKind.UNBASELINED, evidence=evidence)

    def _lost(self, metric: str) -> Verdict:
        evidence = "in the first run only: the second lost it"
        return Verdict(self.cell, metric, VerdictKind.INVALID, evidence=evidence)

    def _judge(self, before: Recorded, after: Recorded) -> CellJudge:
        facts, repeats = before.facts, after.exact_against(before)
        samples = {name: StoredSamples.of(s) for name, s in facts.timed.items()}
        return CellJudge(
            replace(after.facts, repeats_tokens=repeats),
            (*after.broken, *(f"first run: {fault}" for fault in before.broken)),
            ExactBaseline.model_validate(
                {
                    "workload_hash": facts.workload_hash,
                    "metrics": facts.exact.model_dump(),
                    "by_prompt": {} if repeats else facts.by_prompt,
                }
            ),
            TimedBaseline(workload_hash=facts.workload_hash, metrics=samples) if samples else None,
            self.limits,
            self.rule,
        )

    def _acceptance(self, judge: CellJudge, before: Recorded, after: Recorded) -> Iterable[Verdict]:
        equality = []
        if after.facts.agreement:
            equality = [judge.judge(OUTPUTS_EQUAL_CONTROL)]
        elif before.facts.agreement:
            equality = [self._lost(OUTPUTS_EQUAL_CONTROL)]
        if judge.facts.repeats_tokens:
            exact = before.facts.exact, after.facts.exact
            found = [
                metric.name
                for metric in EXACT_METRICS
                if any(getattr(counts, metric.attribute) is not None for counts in exact)
            ]
            return [*equality, *map(judge.judge, found)]
        noisy = [m for m in before.facts.by_prompt if m in self.limits]
        ours = after.facts.by_prompt
        return [*equality, *(judge.judge(m) if m in ours else self._lost(m) for m in noisy)]

    def _timed(self, judge: CellJudge, before: Recorded, after: Recorded) -> Iterator[Verdict]:
        for metric in before.facts.timed:
            if metric not in self.limits:
                continue
            if metric not in after.facts.timed:
                yield self._lost(metric)
                continue
            if before.machine == after.machine:
                yield judge.judge(metric)
                continue
            evidence = f"other machine, {before.machine} -> {after.machine}: times do not compare"
            value, unit = after.facts.median(metric), unit_of(metric)
            yield Verdict(
                self.cell, metric, VerdictKind.INVALID, value, unit=unit, evidence=evidence
            )
