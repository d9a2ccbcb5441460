"""The end of a perf run on the terminal."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from draftgate.baseline.update import Action
from draftgate.verdict.kinds import VerdictKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftgate.plugin.gate import Gate


def write_summary(reporter: Any, gate: Gate) -> None:
    """Table, counts, what to do about it, where the results are."""
    from rich.console import Console

    from draftgate.reporting.rows import rows
    from draftgate.reporting.terminal import summary

    measured = [m.measurement for m in gate.session.all_measured()]
    if not measured and not gate.verdicts:
        return
    reporter.section(f"draftgate: profile {gate.profile.name}")
    console = Console(
        file=reporter._tw._file,
        force_terminal=reporter.isatty,
        width=max(100, reporter._tw.fullwidth),
    )
    console.print(summary(rows(measured, gate.verdicts), _notes(gate)), highlight=False)


def _notes(gate: Gate) -> Iterator[str]:
    unbaselined = {v.cell for v in gate.verdicts if v.verdict is VerdictKind.UNBASELINED}
    if unbaselined:
        machine = gate.session.all_measured()[0].measurement.draftgate.machine.key
        yield (
            f"UNBASELINED: {len(unbaselined)} cells have no baseline for some metric on this "
            f"machine ({machine}), so nothing guards it. Create it on a commit you trust: "
            f"pytest -m perf perf_tests --profile {gate.profile.name} --update-baselines=new"
        )
    yield from (f"baseline not written: {reason}" for reason in gate.unusable)
    for decision in gate.decisions:
        if decision.action is Action.REFUSED:
            candidate = decision.candidate
            yield f"baseline not written: {candidate.cell_id} ({candidate.key}): {decision.reason}"
    if gate.decisions:
        counts = Counter(d.action.value for d in gate.decisions)
        said = ", ".join(f"{n} {action}" for action, n in sorted(counts.items()))
        yield f"baselines in {gate.store.root}: {said}. An updating run judges nothing."
    yield f"results: {gate.folder.path}"
