"""The end of a perf run on the terminal."""

from __future__ import annotations

import io
import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from draftgate.baseline.age import OLD_DAYS, old_places
from draftgate.reporting.sensitivity_line import sensitivity_line
from draftgate.verdict.kinds import VerdictKind

if TYPE_CHECKING:
    import pytest

    from draftgate.plugin.gate import Gate
    from draftgate.verdict.verdict import Verdict

LEAST_WIDTH = 100
REMARKS = 10
REMARKABLE = (
    VerdictKind.SUSPECT,
    VerdictKind.IMPLAUSIBLE,
    VerdictKind.UNDERPOWERED,
    VerdictKind.UNSTABLE,
    VerdictKind.BASELINE_DRIFT,
    VerdictKind.IMPROVED,
)
"""Verdicts that pass a test, and must not pass in silence."""


def write_summary(reporter: Any, gate: Gate) -> None:
    """Table, counts, what to do about it, where the results are."""
    from rich.console import Console

    from draftgate.reporting.rows import rows
    from draftgate.reporting.terminal import summary

    measured = [m.measurement for m in gate.session.all_measured()]
    notes = [*_notes(gate, reporter.config), f"results: {gate.folder.path}"]
    text = io.StringIO()  # written by pytest, which knows what the terminal can encode
    console = Console(
        file=text,
        force_terminal=reporter.hasmarkup,
        width=max(LEAST_WIDTH, reporter._tw.fullwidth),
        soft_wrap=True,
    )
    console.print(summary(rows(measured, gate.verdicts), notes), highlight=False)
    reporter.section(f"draftgate: profile {gate.profile.name}")
    for line in text.getvalue().splitlines():
        reporter.line(line.rstrip())


def _notes(gate: Gate, config: pytest.Config) -> Iterator[str]:
    if gate.options.fault is not None:
        yield gate.options.fault.notice()
    if gate.reference is not None:
        yield gate.reference.summary()
    yield from _remarks(gate.verdicts)
    if line := sensitivity_line(gate.verdicts):
        yield line
    unbaselined = {v.cell for v in gate.verdicts if v.verdict is VerdictKind.UNBASELINED}
    if unbaselined and not gate.options.update and not gate.options.fault:
        yield (
            f"UNBASELINED: {len(unbaselined)} cells have no baseline for some metric on this "
            f"machine ({gate.surroundings.fingerprint.key}), so nothing guards it. "
            f"Create it on a commit you trust: {_creating(gate, config)}"
        )
    yield from gate.updated.problems
    if said := gate.updated.counts():
        yield (
            f"baselines in {gate.store.root}: {said}. The verdicts above are against the "
            "baselines before this update."
        )
    yield from gate.pruned.notes()
    yield from _aged(gate)
    if gate.unwritten:
        yield gate.unwritten


def _aged(gate: Gate) -> Iterator[str]:
    """Baselines of this machine that are old; what was just written is not."""
    old = old_places(gate.store.root, gate.baseline_keys(), datetime.now(UTC).date())
    if old:
        yield (
            f"baselines in {len(old)} files are older than {OLD_DAYS} days (the oldest of "
            f"{old[0].written}): measure them again with --update-baselines=all"
        )


def _creating(gate: Gate, config: pytest.Config) -> str:
    """The command that creates the missing baselines of the tests that were asked for."""
    marked = ["-m", config.option.markexpr] if config.option.markexpr else []
    words = ["pytest", *marked, *config.args, *gate.options.again(), "--update-baselines=new"]
    return shlex.join(words)


def _remarks(verdicts: Sequence[Verdict]) -> Iterator[str]:
    lines = [v.line() for v in verdicts if _is_remarkable(v)]
    yield from lines[:REMARKS]
    if len(lines) > REMARKS:
        yield f"and {len(lines) - REMARKS} more such verdicts, see verdicts.json"


def _is_remarkable(verdict: Verdict) -> bool:
    if not verdict.exact:
        return verdict.verdict in REMARKABLE
    # It equals the baseline and not the reference, or the reference and not the baseline.
    differs = verdict.verdict is VerdictKind.OK and bool(verdict.evidence)
    return differs or verdict.verdict is VerdictKind.BASELINE_DRIFT
