"""The rule for a noisy difference: effect beyond the limit and significance, both.

A loss fails on its own only where its p survives Bonferroni over the manifest's comparisons, the
first step of Holm: a test's verdict is made when the test runs, and later p-values are not known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.noise import Difference, NoiseModel, log_gain
from draftgate.verdict.sensitivity import Sensitivity
from draftgate.verdict.verdict import Verdict


@dataclass(frozen=True)
class TimedRule:
    """``alpha``: significance. ``power``: of the smallest detectable change.

    ``family_alpha``: chance that any of an equal gate's comparisons is red by the screening;
    ``pairs_alpha``: likewise by pairs beside a reference (`for_pairs`). Lower, because what the
    screening is unsure of is tested a second time.
    ``family_size``: comparisons of the manifest (cells x judged timed metrics), selected or not.
    ``implausible_gain``: relative. ``min_rounds``: of either side.
    """

    alpha: float = 0.05
    family_alpha: float = 0.01
    pairs_alpha: float = 0.002
    power: float = 0.8
    family_size: int = 1
    implausible_gain: float = 0.20
    min_rounds: int = 3
    noise: NoiseModel = field(default_factory=NoiseModel)

    @property
    def strict_alpha(self) -> float:
        """What a p must be below to fail by itself."""
        return self.family_alpha / self.family_size

    def for_pairs(self) -> TimedRule:
        """The rule for pairs beside a reference."""
        return replace(self, family_alpha=self.pairs_alpha)


def kind_of(
    moved: Difference, limit: float, higher_is_better: bool, rule: TimedRule
) -> VerdictKind:
    """Monotone: at the same noise, a smaller value never gets a better verdict."""
    gain = moved.log_ratio if higher_is_better else -moved.log_ratio
    p_loss, p_gain = moved.p_below(), moved.p_above()
    if not higher_is_better:
        p_loss, p_gain = p_gain, p_loss
    tolerated = log_gain(-limit, higher_is_better)
    if gain < tolerated:
        return _loss_kind(p_loss, rule)
    if p_gain < rule.alpha and gain > log_gain(rule.implausible_gain, higher_is_better):
        return VerdictKind.IMPLAUSIBLE
    if p_gain < rule.alpha and gain > log_gain(limit, higher_is_better):
        return VerdictKind.IMPROVED
    half = moved.half_width()
    # A wide interval that still excludes a loss at the limit has answered the question.
    if half > -tolerated and gain - half <= tolerated:
        return VerdictKind.UNSTABLE
    return VerdictKind.OK


def weighed(verdict: Verdict, moved: Difference, rule: TimedRule) -> Verdict:
    """``verdict`` with ratio, 95 % confidence interval, p and sensitivity of ``moved``.

    Raises ValueError on a limit outside (0, 1).
    """
    limit, higher = verdict.limit, verdict.higher_is_better
    if limit is None or not 0 < limit < 1:
        raise ValueError(f"{verdict.metric}: a limit of {limit} is not in (0, 1)")
    half = moved.half_width()
    return replace(
        verdict,
        ratio=math.exp(moved.log_ratio),
        ci_low=math.exp(moved.log_ratio - half),
        ci_high=math.exp(moved.log_ratio + half),
        p=moved.p_below() if higher else moved.p_above(),
        sensitivity=Sensitivity.of(moved, limit, higher, rule.strict_alpha, rule.power),
    )


def _loss_kind(p: float, rule: TimedRule) -> VerdictKind:
    if p < rule.strict_alpha:
        return VerdictKind.REGRESSED
    return VerdictKind.SUSPECT if p < rule.alpha else VerdictKind.UNSTABLE
