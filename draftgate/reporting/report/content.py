"""What a report says, whatever it is printed as."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from draftgate.analysis.advice import Advice, AdviceError, advise
from draftgate.analysis.cost import CostModel
from draftgate.measure.record import Block
from draftgate.reporting.report.acceptance_panels import acceptance_panels
from draftgate.reporting.report.bound_panels import bound_panels
from draftgate.reporting.report.complement_panels import complement_panels
from draftgate.reporting.report.panel import Panel, Section, counted
from draftgate.reporting.report.select import blocks
from draftgate.reporting.report.speed_panels import speed_panels
from draftgate.reporting.report.stage_panels import stage_panels
from draftgate.reporting.rows import Row, rows
from draftgate.reporting.run_reader import Run
from draftgate.verdict.verdict import Verdict


@dataclass(frozen=True)
class Report:
    """``headline``: one sentence. ``failing``: verdicts that are failing tests, the worst first.

    ``facts``: fingerprint and provenance, in order; untrusted text like all else from the run.
    """

    headline: str
    finished: bool
    rows: Sequence[Row]
    failing: Sequence[Verdict]
    advice: Sequence[Advice]
    sections: Sequence[Section]
    facts: Mapping[str, Any]


def build_report(run: Run, cost: CostModel) -> Report:
    """The report of ``run``; ``cost`` prices what is simulated. Raises OverlapError."""
    found = blocks(run.measurements)
    shown = rows(run.measurements, run.verdicts)
    failing = [verdict for verdict in run.verdicts if verdict.fails()]
    return Report(
        headline=_headline(run, shown),
        finished=run.finished,
        rows=shown,
        failing=failing,
        advice=_advice(run),
        sections=_sections(found, cost),
        facts=_facts(run, found),
    )


def _sections(found: Sequence[Block], cost: CostModel) -> list[Section]:
    parts: Sequence[tuple[str, Iterable[Panel]]] = (
        ("Speed", speed_panels(found)),
        ("Where the time goes", stage_panels(found)),
        ("Acceptance", acceptance_panels(found)),
        ("Variants beside each other", complement_panels(found)),
        ("The distance to the bound", bound_panels(found, cost)),
    )
    sections = [Section(title, tuple(panels)) for title, panels in parts]
    return [section for section in sections if section.panels]


def _headline(run: Run, shown: Sequence[Row]) -> str:
    """Timed cells apart from the others, which only say that tokens and acceptance are equal."""
    timed = [row for row in shown if row.output_throughput is not None]
    others = [row for row in shown if row.output_throughput is None]
    exact = [row for row in others if row.tokens_per_step is not None]
    lost = [row for row in others if row.tokens_per_step is None]
    kinds = (("timed", timed), ("by exact metrics alone", exact), ("not measured", lost))
    parts = [f"{len(part)} {what} ({_counts(part)})" for what, part in kinds if part]
    state = "" if run.finished else " (the run did not finish)"
    return f"{counted(len(shown), 'cell')}{state}: {', '.join(parts)}"


def _counts(shown: Sequence[Row]) -> str:
    counts = Counter(row.verdict.value if row.verdict else "not judged" for row in shown)
    return ", ".join(f"{count} {kind}" for kind, count in counts.items())


def _advice(run: Run) -> tuple[Advice, ...]:
    try:
        return advise(run.measurements)
    except AdviceError:  # nothing was timed, which is a choice of the profile
        return ()


def _facts(run: Run, found: Sequence[Block]) -> dict[str, Any]:
    """Flat; the models' revisions from the cells, the rest from `run.json`."""
    block = found[0]
    models = {name: rev for b in found for name, rev in b.provenance.models.items()}
    return {
        "folder": run.path,
        "profile": run.facts.get("profile", "-"),
        "started": run.facts.get("started", block.started.isoformat()),
        "ended": run.facts.get("ended", "-"),
        "exit reason": run.facts.get("exit_reason", "-"),
        "machine": block.machine.key,
        "instruction set": block.machine.isa_class,
        **{f"machine: {key}": value for key, value in block.machine.fields.items()},
        "vllm": block.provenance.vllm,
        "torch": block.provenance.torch,
        "python": block.provenance.python,
        "draftgate": block.provenance.draftgate,
        "commit": block.provenance.commit or "-",
        **{f"model {name}": rev or "local folder" for name, rev in models.items()},
        "cells": len(found),
    }
