"""What a kind of verdict means, in the words of a report; the rules are in `docs/verdicts.md`."""

from __future__ import annotations

from collections.abc import Mapping

from draftgate.verdict.kinds import VerdictKind

MEANINGS: Mapping[VerdictKind, str] = {
    VerdictKind.INVALID: "the measurement contradicts itself: nothing can be said",
    VerdictKind.REGRESSED: "worse than the baseline",
    VerdictKind.SUSPECT: "a loss that may be chance, or awaits confirmation",
    VerdictKind.STALE: "the baseline is of other prompts or output lengths",
    VerdictKind.IMPLAUSIBLE: "better than can be believed: another machine, or another workload",
    VerdictKind.UNBASELINED: "nothing to compare with",
    VerdictKind.UNDERPOWERED: "too few samples to know the noise",
    VerdictKind.UNSTABLE: "too noisy to tell a loss at the limit from none",
    VerdictKind.BASELINE_DRIFT: "below the baseline, as the reference is: the machine changed",
    VerdictKind.IMPROVED: "better than the baseline",
    VerdictKind.OK: "equal, or no loss beyond the limit",
}
