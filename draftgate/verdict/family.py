"""The comparisons that a gate's significance is spread over: the manifest's, never a selection's.

A run of one cell (`-k`) must not be laxer about it than the run of all, or a developer's rerun of
a red cell would judge by another rule than the gate.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeVar

from draftgate.engine.drafts import is_scripted
from draftgate.measure.metrics import RELATIVE_TO_CONTROL
from draftgate.measure.per_prompt import LIMITS
from draftgate.verdict.noise import NoiseModel
from draftgate.verdict.rule import TimedRule
from draftgate.verdict.stages import STAGE_METRICS

if TYPE_CHECKING:
    from draftgate.profile.cells import Cell
    from draftgate.profile.model import Profile

Comparison = tuple[str, str]
"""Cell id and timed metric."""

Key = TypeVar("Key", bound=Hashable)

OF_DRAFTING = RELATIVE_TO_CONTROL | {"draft_share"}


def manifest_comparisons(profile: Profile) -> tuple[Comparison, ...]:
    """Timed cells x metrics with a limit that such a cell has."""
    return tuple(
        (cell.id, metric)
        for cell in profile.cells()
        for metric in profile.limits.stated()
        if _has(cell, metric)
    )


def _tolerance_comparisons(profile: Profile) -> tuple[Comparison, ...]:
    """Drafting cells x metrics of acceptance; all have a tolerance, stated or not."""
    return tuple(
        (cell.id, metric)
        for cell in profile.cells()
        for metric in LIMITS
        if cell.scenario.variant.k
    )


def _has(cell: Cell, metric: str) -> bool:
    """A control neither speeds up nor drafts; only a staged cell has a stage's share."""
    if cell.scenario.is_control and metric in OF_DRAFTING:
        return False
    if is_scripted(cell.scenario.variant.speculative_config):
        return False  # replayed for the bound, compared with nothing
    return cell.staged if metric in STAGE_METRICS else cell.timed


def rule_of(profile: Profile, *, repeats_tokens: bool) -> TimedRule:
    """The rule for the profile's noisy metrics, the same for a selection as for all its cells.

    ``repeats_tokens``: whether equal software writes equal tokens there; where it does not (a GPU),
    acceptance is noisy, too.
    """
    noisy = len(manifest_comparisons(profile))
    if not repeats_tokens:
        noisy += len(_tolerance_comparisons(profile))
    return TimedRule(
        family_size=max(1, noisy),
        noise=NoiseModel(profile.plan.session_sd, profile.plan.start_sd, profile.plan.ratio_sd),
    )


def holm(p_values: Mapping[Key, float], manifest: Iterable[Key]) -> dict[Key, float]:
    """Holm-adjusted p of each given comparison.

    Comparisons of the manifest without a p count too: nothing was found in them, so theirs is 1.
    """
    from statsmodels.stats.multitest import multipletests  # imports pandas

    family = {**dict.fromkeys(manifest, 1.0), **p_values}
    if not family:
        return {}
    adjusted = multipletests(list(family.values()), method="holm")[1]
    return {key: float(p) for key, p in zip(family, adjusted, strict=True) if key in p_values}


def rejected(
    p_values: Mapping[Key, float], manifest: Iterable[Key], alpha: float
) -> Collection[Key]:
    """The comparisons that are significant at ``alpha`` over the whole family."""
    return {key for key, p in holm(p_values, manifest).items() if p < alpha}
