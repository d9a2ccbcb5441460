"""Tokens and acceptance against a baseline or a reference: ``==``, or with noise on a GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from draftgate.baseline.schema import ExactBaseline
from draftgate.measure.exact import ExactMetrics
from draftgate.measure.per_prompt import LIMITS, Ratios
from draftgate.verdict.exact_cell import judge_exact_cell
from draftgate.verdict.facts import CellFacts
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.rule import TimedRule
from draftgate.verdict.tolerance import judge_tolerance
from draftgate.verdict.verdict import Verdict

INEXACT_ACCEPTANCE = 0.01
"""Tokens per step that move by less are called unchanged where they are not exact."""

_MOVED = frozenset({VerdictKind.REGRESSED, VerdictKind.IMPLAUSIBLE})


@dataclass(frozen=True)
class Counted:
    """What a cell is compared with; ``by_prompt`` is empty where nobody kept it."""

    exact: ExactMetrics
    by_prompt: Mapping[str, Ratios] = field(default_factory=dict)

    @classmethod
    def stored(cls, baseline: ExactBaseline) -> Self:
        """A stored baseline's."""
        return cls(baseline.metrics, baseline.by_prompt)


def judge_counted(
    facts: CellFacts,
    metric: str,
    other: Counted | None,
    limits: Mapping[str, float],
    rule: TimedRule,
) -> Verdict:
    """The verdict on one of `EXACT_METRICS`; None to compare with: UNBASELINED.

    Where equal software need not write equal tokens, acceptance is judged by prompt
    (`judge_tolerance`, ``limits`` or `LIMITS`), and of everything else a difference is only told:
    losslessness is judged beside the control, in the same run.
    """
    if other is not None and not facts.repeats_tokens and metric in facts.by_prompt:
        limit = limits.get(metric, LIMITS[metric])
        ours, theirs = facts.by_prompt[metric], other.by_prompt.get(metric, {})
        return judge_tolerance(facts.cell, metric, ours, theirs, limit, rule=rule)
    stored = other.exact.model_dump() if other else None
    judged = {v.metric: v for v in judge_exact_cell(facts.cell, facts.exact.model_dump(), stored)}
    verdict = judged.get(metric) or Verdict(facts.cell, metric, VerdictKind.OK, limit=0.0)
    return verdict if facts.repeats_tokens else _told(verdict)


def _told(verdict: Verdict) -> Verdict:
    if verdict.verdict not in _MOVED or verdict.value is None or verdict.baseline is None:
        return verdict
    evidence = ", ".join(filter(None, (verdict.evidence, "not exact on this hardware")))
    return replace(verdict, verdict=VerdictKind.OK, limit=None, evidence=evidence)
