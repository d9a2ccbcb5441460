"""`Verdict`: what is said about one metric of one cell, as a flat record and as one line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from draftgate.verdict.kinds import FailurePolicy, VerdictKind
from draftgate.verdict.line import first_line
from draftgate.verdict.sensitivity import Sensitivity

Value = float | int | str | tuple[float, ...]

RECORD_KEYS = (
    *("cell", "metric", "verdict", "value", "baseline", "unit", "ratio"),
    *("ci_low", "ci_high", "p", "n", "limit", "cause"),
)
"""Others script against these names."""


@dataclass(frozen=True)
class Verdict:
    """One judged metric.

    ``ratio``, ``ci_low``, ``ci_high``: value / baseline and its 95 % confidence interval, raw (not
    turned so that more is better). ``limit``: largest tolerated relative loss, 0.0 where compared
    with ``==``, None where nothing was compared. ``n``: samples of the value. From ``evidence`` on
    the fields serve lines and reports; ``counted`` is what ``n`` counts.
    """

    cell: str
    metric: str
    verdict: VerdictKind
    value: Value | None = None
    baseline: Value | None = None
    unit: str = ""
    ratio: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    p: float | None = None
    n: int | None = None
    limit: float | None = None
    cause: str = ""
    evidence: str = ""
    counted: str = "rounds"
    higher_is_better: bool = True
    sensitivity: Sensitivity | None = None

    @property
    def exact(self) -> bool:
        """Whether the metric is compared with ``==``."""
        return self.limit == 0.0

    def fails(self, policy: FailurePolicy | None = None) -> bool:
        """Whether this verdict is a failing test."""
        return (policy or FailurePolicy()).fails(self.verdict, exact=self.exact)

    def line(self) -> str:
        """The first line of a failure, complete by itself."""
        return first_line(self)

    def record(self) -> dict[str, Any]:
        """The flat record that commands print: JSON types only."""
        data = {name: getattr(self, name) for name in RECORD_KEYS}
        return {**data, "verdict": self.verdict.value, "cause": self.cause or None}

    def stored(self) -> dict[str, Any]:
        """The record of ``verdicts.json``: from it the line can be told again."""
        return {**self.record(), "counted": self.counted, "evidence": self.evidence or None}
