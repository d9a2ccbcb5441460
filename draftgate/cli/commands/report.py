"""`draftgate report`: a run as one HTML page, Markdown or JSON."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class ReportFormat(StrEnum):
    """What a report can be printed as."""

    HTML = "html"
    MARKDOWN = "md"
    JSON = "json"


def report(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="The folder of a run.")],
    destination: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write there instead of to stdout."),
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Accept a run that did not finish.")
    ] = False,
    cost_model: Annotated[
        str, typer.Option(metavar="NAME|PATH", help="Prices the oracle and the combination.")
    ] = "h100-llama3.1-8b",
    output: Annotated[
        ReportFormat, typer.Option("--format", help="How to print.")
    ] = ReportFormat.HTML,
) -> None:
    """Write a run's report: verdicts, advice, speed, acceptance, bounds and provenance.

    HTML is one file that loads nothing, for a screen, a phone or paper. Every figure states its
    unit, what was counted (n) and its noise. Needs draftgate[report].

    \b
    Examples:
      draftgate report results/latest -o report.html
      draftgate report results/latest --format md >> $GITHUB_STEP_SUMMARY
      draftgate report results/latest --format json | jq '.panels[].key'
    """
    from draftgate.analysis.cost_models import load_cost_model
    from draftgate.reporting.report.content import build_report
    from draftgate.reporting.report.flat import render_json
    from draftgate.reporting.report.markdown import render_markdown
    from draftgate.reporting.report.page import render_html
    from draftgate.reporting.report.write import write_report
    from draftgate.reporting.run_reader import read_run

    render = {
        ReportFormat.HTML: render_html,
        ReportFormat.MARKDOWN: render_markdown,
        ReportFormat.JSON: render_json,
    }[output]
    text = render(build_report(read_run(results, partial), load_cost_model(cost_model)))
    if destination is None:
        sys.stdout.write(text)
        return
    write_report(destination, text)
    print(f"draftgate: wrote {destination}, {len(text.encode()) / 1e6:.1f} MB", file=sys.stderr)
