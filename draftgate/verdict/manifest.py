"""Which verdicts a cell must have before a run counts as complete."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from draftgate.engine.drafts import is_scripted
from draftgate.verdict.equality import OUTPUTS_EQUAL_CONTROL
from draftgate.verdict.reference import RUNS
from draftgate.verdict.stages import STAGE_METRICS

if TYPE_CHECKING:
    from draftgate.profile.cells import Cell
    from draftgate.profile.model import Profile

IDENTITIES = "identities"
KV_BYTES = "kv_bytes_per_token"
UPPER_BOUND = "upper_bound"

ALWAYS = frozenset({IDENTITIES, "outputs", "tokens_per_step"})
DRAFTING = frozenset(
    {
        *("acceptance_length", "per_position_acceptance_rate", "drafted_tokens"),
        OUTPUTS_EQUAL_CONTROL,
    }
)
TIMED = frozenset({"output_throughput", KV_BYTES})
TIMED_DRAFTING = frozenset({"speedup"})
STAGED_DRAFTING = frozenset({"draft_share"})
STAGED = frozenset(STAGE_METRICS) - STAGED_DRAFTING
WHERE_LIMITED = frozenset({"mean_ttft_ms", "mean_tpot_ms", "step_time_ms"})
"""Timed metrics that are judged where the profile gives them a limit."""
WITHOUT_STORE = frozenset({IDENTITIES, KV_BYTES, UPPER_BOUND, OUTPUTS_EQUAL_CONTROL, RUNS})
"""What is judged without a stored baseline, so that updating baselines excuses nothing of it."""

Manifest = Mapping[str, frozenset[str]]
"""Cell id -> metrics that must be judged, in the profile's order."""


def required_metrics(cell: Cell, limited: Collection[str] = ()) -> frozenset[str]:
    """What `perf_tests/` judges of ``cell`` at least; it may judge more.

    ``limited``: the metrics that have a limit.
    """
    if is_scripted(cell.scenario.variant.speculative_config):
        return frozenset({UPPER_BOUND})
    drafts, timed = not cell.scenario.is_control, cell.timed
    return ALWAYS.union(
        DRAFTING if drafts else (),
        TIMED | WHERE_LIMITED.intersection(limited) if timed else (),
        TIMED_DRAFTING if timed and drafts else (),
        STAGED if cell.staged else (),
        STAGED_DRAFTING if cell.staged and drafts else (),
    )


def manifest_of(profile: Profile) -> Manifest:
    """What a run of all cells of ``profile`` must have judged."""
    limited = profile.limits.stated()
    return MappingProxyType({c.id: required_metrics(c, limited) for c in profile.cells()})
