"""The rule for stage times: a stage's share of the step must not rise because it got dearer.

A share does not depend on how fast the machine is today, unlike milliseconds; but it also rises
where another stage got cheaper, unlike milliseconds. A loss is what both say.
"""

from __future__ import annotations

from dataclasses import replace

from draftgate.measure.sessions import median_of
from draftgate.measure.stages import STAGES, StageSamples
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.rule import TimedRule
from draftgate.verdict.timed import judge_timed
from draftgate.verdict.verdict import Verdict

STAGE_METRICS = {f"{stage}_share": stage for stage in STAGES}
"""Metric -> the stage it judges."""


def judge_share(
    cell: str,
    stage: str,
    measured: StageSamples,
    baseline: StageSamples | None,
    limit: float,
    rule: TimedRule | None = None,
) -> Verdict:
    """Judge the share of ``stage`` by its relative rise; ``limit`` in (0, 1).

    INVALID where other stages were timed than in the baseline: their shares do not compare.

    Raises KeyError where the measurement lacks the stage.
    """
    if stage not in measured:
        raise KeyError(f"{cell}: no time of stage {stage}")
    if baseline and baseline.keys() != measured.keys():
        evidence = f"stages {_named(measured)}, the baseline's {_named(baseline)}"
        return Verdict(cell, f"{stage}_share", VerdictKind.INVALID, evidence=evidence)
    stored = baseline if baseline and _aligned(baseline) else None
    verdict = judge_timed(
        cell,
        f"{stage}_share",
        _shares(stage, measured),
        _shares(stage, stored) if stored else None,
        limit,
        higher_is_better=False,
        rule=rule,
        cause=stage_changes(measured, stored) if stored else "",
    )
    verdict = replace(verdict, counted="groups of steps")
    if verdict.verdict is VerdictKind.IMPLAUSIBLE:  # a share may fall by any amount
        return replace(verdict, verdict=VerdictKind.IMPROVED)
    if verdict.verdict in (VerdictKind.REGRESSED, VerdictKind.SUSPECT) and stored:
        before, now = median_of(stored[stage]), median_of(measured[stage])
        if now <= before:
            evidence = f"{stage} itself takes {before:.3g} -> {now:.3g} ms: others got cheaper"
            return replace(verdict, verdict=VerdictKind.OK, evidence=evidence)
    return verdict


def stage_changes(measured: StageSamples, baseline: StageSamples) -> str:
    """For example ``verify +0.9 ms, draft +0.1 ms``: what moved most comes first."""
    moved = {
        stage: median_of(measured[stage]) - median_of(baseline[stage])
        for stage in STAGES
        if stage in measured and stage in baseline
    }
    by_size = sorted(moved, key=lambda stage: -abs(moved[stage]))
    return ", ".join(f"{stage} {moved[stage]:+.2g} ms" for stage in by_size)


def _aligned(baseline: StageSamples) -> bool:
    """Stages of one session have as many groups."""
    return len({tuple(map(len, sessions)) for sessions in baseline.values()}) == 1


def _named(samples: StageSamples) -> str:
    return "/".join(stage for stage in STAGES if stage in samples)


def _shares(stage: str, samples: StageSamples) -> list[list[float]]:
    sessions = range(len(samples[stage]))
    return [
        [part / total for part, total in zip(samples[stage][i], _totals(samples, i), strict=True)]
        for i in sessions
    ]


def _totals(samples: StageSamples, session: int) -> list[float]:
    columns = [samples[stage][session] for stage in STAGES if stage in samples]
    return [sum(row) for row in zip(*columns, strict=True)]
