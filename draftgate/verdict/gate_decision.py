"""The rule of `draftgate gate`: may a change pass, by what its perf runs say?

Green needs proof for every cell of the manifest. A run that cannot prove is incomplete, and what
is known to be worse outranks what is unknown: exit code 2 before 3, both are told.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from draftgate.verdict.evidence import Evidence, JudgedTest, Outcome
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.manifest import ALWAYS, DRAFTING, Manifest
from draftgate.verdict.reference import RUNS
from draftgate.verdict.run_gaps import Expected, run_gaps

PASS, REGRESSION, INCOMPLETE = 0, 2, 3

WORSE = frozenset({VerdictKind.REGRESSED})
WORSE_WHERE_RED = frozenset({VerdictKind.SUSPECT, VerdictKind.IMPLAUSIBLE})
GOOD = frozenset({VerdictKind.OK, VerdictKind.IMPROVED})
SAYS_NOTHING = frozenset({VerdictKind.INVALID, VerdictKind.STALE, VerdictKind.UNDERPOWERED})
PORTABLE = ALWAYS | DRAFTING
"""Metrics whose baselines hold on any machine of an instruction set, and lie in the repository."""


@dataclass(frozen=True)
class Finding:
    """One reason not to pass; ``cell`` is empty where it concerns the whole run."""

    text: str
    cell: str = ""


@dataclass(frozen=True)
class GateDecision:
    """``cells``: in the manifest. ``kinds``: verdicts by kind, of the tests that count."""

    profile: str
    cells: int
    regressions: tuple[Finding, ...]
    gaps: tuple[Finding, ...]
    kinds: Mapping[VerdictKind, int]

    @property
    def exit_code(self) -> int:
        """0 pass, 2 regression, 3 incomplete."""
        if self.regressions:
            return REGRESSION
        return INCOMPLETE if self.gaps else PASS

    @property
    def word(self) -> str:
        """The exit code as a word."""
        return {PASS: "pass", REGRESSION: "regression", INCOMPLETE: "incomplete"}[self.exit_code]

    def sentence(self) -> str:
        """The verdict; holds no word of the report's, which may be a stranger's."""
        of = f"of {self.cells} cells of profile {self.profile}"
        worse, unknown = _cells(self.regressions), _cells(self.gaps)
        if self.regressions:
            also = "; the run is also incomplete" if self.gaps else ""
            return f"REGRESSION: {worse} {of} {'is' if worse == 1 else 'are'} worse{also}."
        if unknown:
            have = "has" if unknown == 1 else "have"
            return f"INCOMPLETE: {unknown} {of} {have} no full verdict, so nothing is proven."
        if self.gaps:
            return f"INCOMPLETE: the run proves nothing for profile {self.profile}."
        unsure = {kind: n for kind, n in self.kinds.items() if kind not in GOOD}
        told = ", ".join(f"{unsure[kind]} {kind.value}" for kind in VerdictKind if kind in unsure)
        return (
            f"PASS: all {self.cells} cells of profile {self.profile} are judged, none is worse"
            f"{f' ({told})' if told else ''}."
        )


def decide_gate(expected: Expected, manifest: Manifest, runs: Sequence[Evidence]) -> GateDecision:
    """Judge ``runs``, the shards of one run, against what the profile asks for.

    A run that belongs to another profile counts for nothing.
    """
    gaps = [Finding(text) for text in run_gaps(expected, runs)]
    tests = [t for run in runs if run.facts.manifest == expected.manifest for t in run.tests]
    by_cell: defaultdict[str, list[JudgedTest]] = defaultdict(list)
    for test in tests:
        by_cell[test.cell].append(test)
    # What a dead engine or a lost variant says, it says in every test of a cell.
    worse = dict.fromkeys(Finding(_said(t), t.cell) for t in tests if _is_worse(t))
    gaps += [Finding(_said(test)) for test in by_cell.pop("", ()) if test.red]
    for cell, metrics in manifest.items():
        texts = dict.fromkeys(_cell_gaps(metrics, by_cell.pop(cell, [])))
        gaps += [Finding(text, cell) for text in texts]
    gaps += [Finding("is no cell of the profile", cell) for cell in by_cell]
    kinds = Counter(test.kind for test in tests if test.kind)
    return GateDecision(expected.profile, len(manifest), tuple(worse), tuple(gaps), kinds)


def _says(test: JudgedTest) -> bool:
    return test.kind not in SAYS_NOTHING


def _is_worse(test: JudgedTest) -> bool:
    return test.kind in WORSE or (test.red and test.kind in WORSE_WHERE_RED)


def _cell_gaps(metrics: frozenset[str], tests: Sequence[JudgedTest]) -> Iterator[str]:
    """What a cell lacks."""
    if not tests:
        yield "was never collected"
        return
    judged = Counter(t.metric for t in tests if t.metric and t.metric != RUNS and _says(t))
    for metric, times in judged.items():
        if times > 1:
            yield f"{metric} was judged by {times} tests: which one counts?"
    for test in tests:
        yield from _test_gap(test)
    explained = any(t.red and (t.metric == RUNS or not _says(t)) for t in tests)
    if (lost := metrics - judged.keys()) and not explained:
        yield f"no verdict on {', '.join(sorted(lost))}"


def _test_gap(test: JudgedTest) -> Iterator[str]:
    if test.retried:
        yield f"{test.name} ran more than once: a retry proves nothing"
    if test.outcome is Outcome.SKIPPED:
        yield f"{test.name} was skipped{f' ({test.message})' if test.message else ''}"
    elif test.kind in SAYS_NOTHING or (test.red and not _is_worse(test)):
        yield _said(test)
    elif test.kind is VerdictKind.UNBASELINED and test.metric in PORTABLE:
        yield f"{test.metric} has no baseline, so nothing guards it"


def _said(test: JudgedTest) -> str:
    """The test's own first line, else what its record holds."""
    if test.message:
        return test.message
    if test.kind:
        return f"{test.kind.value} {test.cell} {test.metric}".rstrip()
    return f"{test.name} {test.outcome}"


def _cells(findings: Sequence[Finding]) -> int:
    return len({finding.cell for finding in findings if finding.cell})
