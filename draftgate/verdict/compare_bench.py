"""Two sides of `vllm bench serve` runs: a side's runs are its sessions, of one round each.

With a single run a side, throughput has no noise to judge by; the latencies do, since both sides
send the same prompts: paired by request, with the shift between process starts on top.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from draftgate.measure.bench_file import BenchRun
from draftgate.measure.metrics import higher_is_better
from draftgate.verdict.cell import unit_of
from draftgate.verdict.clustered import clustered_difference
from draftgate.verdict.compare import MEASUREMENT, step_down
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.lengths import length_shift
from draftgate.verdict.noise import Difference, pooled
from draftgate.verdict.rule import TimedRule, kind_of, weighed
from draftgate.verdict.timed import judge_timed
from draftgate.verdict.tolerance import MIN_PROMPTS
from draftgate.verdict.verdict import Verdict

LATENCY = "mean_e2el_ms"

DEFAULT_LIMITS: Mapping[str, float] = {
    "output_throughput": 0.05,
    "mean_ttft_ms": 0.10,
    "mean_tpot_ms": 0.05,
    "acceptance_length": 0.03,
    LATENCY: 0.05,
}


def compare_bench(
    baseline: Sequence[BenchRun],
    candidate: Sequence[BenchRun],
    limits: Mapping[str, float],
    rule: TimedRule,
) -> list[Verdict]:
    """Verdicts on ``candidate``, one cell a setting (model, prompts, load), in stable order.

    A setting of one side only is INVALID or UNBASELINED; failed requests are INVALID, as is a
    metric that the second side lost; other prompts and outputs of another length are STALE.
    """
    settings = dict.fromkeys(run.setting for run in (*baseline, *candidate))
    strict = replace(rule, family_size=max(1, len(settings) * len(limits)))
    verdicts = [
        verdict
        for setting in settings
        for verdict in _Sides(
            setting,
            tuple(run for run in baseline if run.setting == setting),
            tuple(run for run in candidate if run.setting == setting),
            limits,
            strict,
        ).verdicts()
    ]
    return step_down(verdicts, rule.family_alpha)


@dataclass(frozen=True)
class _Sides:
    """Runs of one setting."""

    cell: str
    before: tuple[BenchRun, ...]
    after: tuple[BenchRun, ...]
    limits: Mapping[str, float]
    rule: TimedRule

    def verdicts(self) -> Iterator[Verdict]:
        if problem := self._incomparable():
            yield problem
            return
        for metric, limit in self.limits.items():
            before, after = _samples(self.before, metric), _samples(self.after, metric)
            if before and len(after) < len(self.after):
                evidence = "the second side does not report it, the first does"
                yield Verdict(self.cell, metric, VerdictKind.INVALID, evidence=evidence)
            elif before and after:
                yield judge_timed(
                    self.cell,
                    metric,
                    after,
                    before,
                    limit,
                    higher_is_better(metric),
                    unit=unit_of(metric),
                    rule=self.rule,
                )
        if LATENCY in self.limits and (verdict := self._latency(self.limits[LATENCY])):
            yield verdict

    def _incomparable(self) -> Verdict | None:
        def verdict(kind: VerdictKind, evidence: str) -> Verdict:
            return Verdict(self.cell, MEASUREMENT, kind, evidence=evidence)

        if not self.after:
            return verdict(VerdictKind.INVALID, "the second side has no run of this setting")
        if not self.before:
            return verdict(VerdictKind.UNBASELINED, "the first side has no run of this setting")
        runs = (*self.before, *self.after)
        if lost := sum(run.num_prompts - run.completed for run in runs if run.num_prompts):
            return verdict(VerdictKind.INVALID, f"{lost} requests did not complete")
        if len({run.total_input_tokens for run in runs}) > 1:
            old, new = self.before[0].total_input_tokens, self.after[0].total_input_tokens
            evidence = f"other prompts: {old} -> {new} input tokens"
            return verdict(VerdictKind.STALE, evidence)
        texts = min(sum(run.num_prompts for run in side) for side in (self.before, self.after))
        return length_shift(
            self.cell,
            MEASUREMENT,
            _output_tokens(self.after),
            _output_tokens(self.before),
            parting=texts,
        )

    def _latency(self, limit: float) -> Verdict | None:
        """Of single runs: mean latency, paired by request."""
        if len(self.before) > 1 or len(self.after) > 1:
            return None
        sides = [
            {str(i): seconds for i, seconds in enumerate(run.latencies)}
            for run in (*self.after, *self.before)
        ]
        common = min(map(len, sides))
        if common < MIN_PROMPTS:
            return None
        value, baseline = (1000 * math.fsum(s.values()) / len(s) for s in sides)
        verdict = Verdict(
            self.cell,
            LATENCY,
            VerdictKind.OK,
            value,
            baseline,
            unit="ms",
            n=common,
            limit=limit,
            counted="requests",
            higher_is_better=False,
        )
        if not all(0 < x < math.inf for side in sides for x in side.values()):
            evidence = "a latency is not positive"
            return Verdict(self.cell, LATENCY, VerdictKind.INVALID, unit="ms", evidence=evidence)
        after, before = ({i: (seconds, 1.0) for i, seconds in s.items()} for s in sides)
        moved = _with_start_shift(clustered_difference(after, before), self.rule)
        kind = kind_of(moved, limit, False, self.rule)
        return replace(weighed(verdict, moved, self.rule), verdict=kind)


def _with_start_shift(moved: Difference, rule: TimedRule) -> Difference:
    """Two single starts differ by more than their requests show."""
    shift = 2 * rule.noise.session_sd_floor**2
    return Difference(
        moved.log_ratio, *pooled([(moved.standard_error**2, moved.dof), (shift, math.inf)])
    )


def _samples(runs: Sequence[BenchRun], metric: str) -> list[list[float]]:
    values = [getattr(run, metric, None) for run in runs]
    return [[value] for value in values if value is not None]


def _output_tokens(runs: Sequence[BenchRun]) -> int:
    return round(math.fsum(run.total_output_tokens for run in runs) / len(runs))
