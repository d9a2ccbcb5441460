"""The gate's decision for a terminal, for programs, and for a pull request."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict

from draftgate.reporting.clean import clean
from draftgate.reporting.gate_rows import GateRow, fine, reasons, remarkable
from draftgate.reporting.markdown_text import code, table
from draftgate.verdict.evidence import Evidence
from draftgate.verdict.gate_decision import GateDecision

MOST_ROWS = 100
"""Of one table: a comment on GitHub holds 65,536 characters."""

LONGEST_CELL = 240
LONGEST_LINE = 1000


def as_text(decision: GateDecision) -> str:
    """The sentence, then a line a reason."""
    lines = [decision.sentence()]
    rows = reasons(decision)
    for row in rows[:MOST_ROWS]:
        named = row.text if row.cell and row.cell in row.text else f"{row.cell} {row.text}".strip()
        lines.append(f"  {row.status}: {clean(named, LONGEST_LINE)}")
    if len(rows) > MOST_ROWS:
        lines.append(f"  and {len(rows) - MOST_ROWS} more; --format json lists them all")
    if decision.kinds:
        lines.append(f"verdicts: {_counts(decision)}")
    return "\n".join(lines)


def as_record(decision: GateDecision, runs: Sequence[Evidence]) -> str:
    """``{verdict, exit_code, sentence, profile, cells, kinds, findings, verdicts}`` as JSON."""
    return json.dumps(
        {
            "verdict": decision.word,
            "exit_code": decision.exit_code,
            "sentence": decision.sentence(),
            "profile": decision.profile,
            "cells": decision.cells,
            "kinds": dict(sorted((k.value, n) for k, n in decision.kinds.items())),
            "findings": [asdict(row) for row in reasons(decision)],
            "verdicts": [dict(t.record) for run in runs for t in run.tests if t.kind],
        },
        indent=2,
    )


def as_markdown(decision: GateDecision, runs: Sequence[Evidence]) -> str:
    """One sentence, what is not fine worst first, the rest folded, the machine at the end."""
    parts = [f"**{decision.sentence()}**"]
    if rows := [*reasons(decision), *remarkable(runs)]:
        parts.append(_table(rows))
    if rows := fine(runs):
        folded = f"<details><summary>{len(rows)} verdicts that are OK</summary>"
        parts.append(f"{folded}\n\n{_table(rows)}\n\n</details>")
    parts.append(_footer(decision, runs))
    return "\n\n".join(parts)


def _table(rows: Sequence[GateRow]) -> str:
    shown = [
        [row.status, code(row.cell) if row.cell else "(run)", code(_without(row), LONGEST_CELL)]
        for row in rows[:MOST_ROWS]
    ]
    text = table(("status", "cell", "what"), shown)
    more = len(rows) - MOST_ROWS
    return f"{text}\n\nand {more} more" if more > 0 else text


def _without(row: GateRow) -> str:
    """The text, less the cell that stands beside it."""
    return row.text.replace(f" {row.cell} ", " ", 1) if row.cell else row.text


def _footer(decision: GateDecision, runs: Iterable[Evidence]) -> str:
    facts = [run.facts for run in runs]
    machines = dict.fromkeys(f.fingerprint for f in facts if f.fingerprint)
    commits = dict.fromkeys(f.commit[:12] for f in facts if f.commit)
    said = [f"profile {code(decision.profile)}"]
    said += [f"on {code(name)}" for name in machines]
    said += [f"commit {code(name)}" for name in commits]
    counts = _counts(decision)
    return f"<sub>{', '.join(said)}{f'; verdicts: {counts}' if counts else ''}</sub>"


def _counts(decision: GateDecision) -> str:
    counted = Counter({kind.value: n for kind, n in decision.kinds.items()})
    return ", ".join(f"{n} {kind}" for kind, n in counted.most_common())
