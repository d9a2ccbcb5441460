"""What a run's report says, as the gate's rule reads it: facts of the run, and its tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from draftgate.verdict.kinds import VerdictKind


class Outcome(StrEnum):
    """What became of a test."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class JudgedTest:
    """One test of a run.

    ``message``: first line of its failure, or the reason of its skip. ``record``: what it judged,
    the verdict's flat record as text. ``retried``: it ran, or judged, more than once.
    """

    name: str
    outcome: Outcome
    message: str = ""
    cell: str = ""
    kind: VerdictKind | None = None
    record: Mapping[str, str] = field(default_factory=dict)
    retried: bool = False

    @property
    def metric(self) -> str:
        """The metric that was judged; empty: none was."""
        return self.record.get("metric", "") if self.kind else ""

    @property
    def red(self) -> bool:
        """Whether the test failed."""
        return self.outcome in (Outcome.FAILED, Outcome.ERROR)


@dataclass(frozen=True)
class RunFacts:
    """What a run says of itself; empty or 0: it does not.

    ``manifest``: hash of its profile. ``shard``: such as ``1/3``. ``keyword``: its ``-k``.
    ``deselected``: tests of cells that an option took out. ``updating``: it wrote baselines.
    """

    profile: str = ""
    manifest: str = ""
    fingerprint: str = ""
    commit: str = ""
    shard: str = ""
    keyword: str = ""
    deselected: int = 0
    updating: str = ""


@dataclass(frozen=True)
class Evidence:
    """A run, or one shard of it. ``source`` names its file."""

    source: str
    facts: RunFacts
    tests: tuple[JudgedTest, ...]
