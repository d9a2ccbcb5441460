"""A gate's decision as rows, the worst first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from draftgate.verdict.evidence import Evidence, JudgedTest
from draftgate.verdict.gate_decision import GateDecision
from draftgate.verdict.kinds import VerdictKind

TOLD = (VerdictKind.REGRESSED, VerdictKind.INVALID, VerdictKind.STALE)
"""Never pass, so `reasons` has them."""

SEVERITY = {kind: i for i, kind in enumerate(VerdictKind)}


@dataclass(frozen=True)
class GateRow:
    """``status``: ``worse``, ``incomplete`` or a verdict that passes. ``text``: why, one line."""

    cell: str
    status: str
    text: str


def reasons(decision: GateDecision) -> list[GateRow]:
    """Every reason not to pass: what is worse, then what is unknown."""
    return [
        *(GateRow(f.cell, "worse", f.text) for f in decision.regressions),
        *(GateRow(f.cell, "incomplete", f.text) for f in decision.gaps),
    ]


def remarkable(runs: Iterable[Evidence]) -> list[GateRow]:
    """Verdicts that pass and must not pass in silence, the worst first."""
    found = [t for t in _judged(runs) if t.kind not in (VerdictKind.OK, *TOLD) and not t.red]
    return [GateRow(t.cell, _name(t), numbers(t)) for t in _worst_first(found)]


def fine(runs: Iterable[Evidence]) -> list[GateRow]:
    """Timed metrics and acceptance of what is OK."""
    shown = ("speedup", "output_throughput", "acceptance_length")
    found = [t for t in _judged(runs) if t.kind is VerdictKind.OK and t.metric in shown]
    return [GateRow(t.cell, _name(t), numbers(t)) for t in found]


def numbers(test: JudgedTest) -> str:
    """Such as ``speedup 1.8 -> 1.7 (-5.6 %)``."""
    record = test.record
    value, baseline = (_short(record.get(name, "")) for name in ("value", "baseline"))
    change = f"{baseline} -> {value}" if baseline else value
    unit = record.get("unit", "")
    ratio = f"({_percent(record['ratio'])})" if "ratio" in record else ""
    return " ".join(part for part in (test.metric, change, unit, ratio) if part)


def _judged(runs: Iterable[Evidence]) -> Sequence[JudgedTest]:
    return [test for run in runs for test in run.tests if test.kind]


def _worst_first(tests: Iterable[JudgedTest]) -> list[JudgedTest]:
    return sorted(tests, key=lambda t: SEVERITY[t.kind or VerdictKind.OK])


def _name(test: JudgedTest) -> str:
    return test.kind.value if test.kind else ""


def _short(text: str) -> str:
    try:
        return f"{float(text):.4g}"
    except ValueError:
        return text[:40]


def _percent(text: str) -> str:
    try:
        return f"{100 * (float(text) - 1):+.1f} %"
    except ValueError:
        return "?"
