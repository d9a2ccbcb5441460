"""The report as JSON: the same panels, each with all of its records."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from draftgate.reporting.report.content import Report
from draftgate.reporting.report.panel import Panel

SCHEMA_VERSION = 1


def render_json(report: Report) -> str:
    """One object; text is as it stands in the run, escaped by JSON alone."""
    data = {
        "schema_version": SCHEMA_VERSION,
        "headline": report.headline,
        "finished": report.finished,
        "rows": [{**asdict(r), "verdict": r.verdict and r.verdict.value} for r in report.rows],
        "failing": [verdict.record() for verdict in report.failing],
        "advice": [asdict(advice) for advice in report.advice],
        "panels": [_panel(panel) for section in report.sections for panel in section.panels],
        "facts": {name: _plain(value) for name, value in report.facts.items()},
    }
    return json.dumps(data, indent=1, allow_nan=False) + "\n"


def _panel(panel: Panel) -> dict[str, Any]:
    return {
        "key": panel.key,
        "title": panel.title,
        "unit": panel.unit,
        "n": panel.n,
        "noise": panel.noise,
        "remark": panel.remark or None,
        "records": list(panel.records),
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)
