"""What must hold before a cell's numbers may be compared at all."""

from __future__ import annotations

from collections.abc import Sequence

from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.line import spelled
from draftgate.verdict.verdict import Value, Verdict

NO_BASELINE = "no baseline; create one with --update-baselines=new"

REFRESH = (
    'refresh with --update-baselines=changed --accept-regression "reason", or, if it is another '
    "profile's, give this profile a baseline_series"
)


def precondition(
    cell: str,
    metric: str,
    *,
    broken: Sequence[str] = (),
    workload_hash: str = "",
    baseline_workload_hash: str | None = None,
    value: Value | None = None,
    unit: str = "",
) -> Verdict | None:
    """INVALID, UNBASELINED or STALE where there is nothing to judge; None: judge.

    ``broken``: identities that do not hold. ``baseline_workload_hash``: None without a baseline.
    """
    if broken:
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        evidence = f"identity broken: {broken[0]}{more}"
        return Verdict(cell, metric, VerdictKind.INVALID, value, unit=unit, evidence=evidence)
    if baseline_workload_hash is None:
        return Verdict(
            cell, metric, VerdictKind.UNBASELINED, value, unit=unit, evidence=NO_BASELINE
        )
    if workload_hash != baseline_workload_hash:
        old, new = spelled(baseline_workload_hash), spelled(workload_hash)
        evidence = f"workload_hash {old} -> {new}: other prompts than the baseline's; {REFRESH}"
        return Verdict(cell, metric, VerdictKind.STALE, value, unit=unit, evidence=evidence)
    return None
