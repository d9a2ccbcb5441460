"""`draftgate gate`: may this change pass, by the JUnit of its perf run?"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class GateFormat(StrEnum):
    """A table for a terminal, one object for programs, a report for a pull request."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


def gate(
    junit: Annotated[
        list[Path], typer.Argument(metavar="JUNIT...", help="JUnit of the run, or of its shards.")
    ],
    profile: Annotated[
        str, typer.Option(metavar="auto|NAME|PATH", help="The profile: what must be judged.")
    ] = "auto",
    commit: Annotated[
        str | None, typer.Option(metavar="HASH", help="The commit that must have been measured.")
    ] = None,
    output: Annotated[
        GateFormat, typer.Option("--format", help="How to print.")
    ] = GateFormat.TABLE,
) -> int:
    """Judge a perf run by its JUnit against the profile's cells.

    Exit codes: 0 pass; 2 a cell is worse; 3 incomplete: a cell was skipped, lost, judged twice or
    never collected, the run selected with -k, belongs to another profile or commit, or shards are
    missing; 1 the report cannot be read. Where a run is both worse and incomplete, the code is 2.

    \b
    Examples:
      pytest -m perf perf_tests --profile cpu --junitxml junit.xml
      draftgate gate junit.xml --profile cpu
      draftgate gate junit.xml --profile cpu --commit "$(git rev-parse HEAD)"
      draftgate gate shard-*.xml --profile cpu --format markdown >> "$GITHUB_STEP_SUMMARY"
      draftgate gate junit.xml --profile cpu --format json | jq -r .sentence
    """
    from draftgate.profile import load_profile
    from draftgate.profile.manifest_hash import manifest_hash
    from draftgate.reporting.gate_report import as_markdown, as_record, as_text
    from draftgate.reporting.junit import read_junit
    from draftgate.verdict.gate_decision import decide_gate
    from draftgate.verdict.manifest import manifest_of
    from draftgate.verdict.run_gaps import Expected

    if commit is not None and not commit.strip():
        raise typer.BadParameter("is empty: is a variable of the CI unset?", param_hint="--commit")
    loaded = load_profile(profile)
    runs = [read_junit(path) for path in junit]
    expected = Expected(loaded.name, manifest_hash(loaded), loaded.fingerprint or "", commit or "")
    decision = decide_gate(expected, manifest_of(loaded), runs)
    match output:
        case GateFormat.JSON:
            print(as_record(decision, runs))
        case GateFormat.MARKDOWN:
            print(as_markdown(decision, runs))
        case GateFormat.TABLE:
            print(as_text(decision))
    return decision.exit_code
