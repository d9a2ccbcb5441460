"""How sure is a difference of two timed values? Logs, session medians, a Welch-type test.

Rounds of one process start share its luck (memory layout, placement), so the unit is the session:
its median round. The variance of a difference has three parts, and Welch-Satterthwaite joins
their degrees of freedom: round noise of the value, round noise of the baseline, and the shift
between sessions. The shift cannot be seen from one session; it is never taken to be below
``session_sd_floor``, because leaving it out turns a fifth of all A/A comparisons red.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from draftgate.measure.metrics import is_ratio
from draftgate.measure.sessions import Sessions

MEDIAN_VARIANCE = math.pi / 2  # of a median, relative to the mean's (normal noise)


@dataclass(frozen=True)
class NoiseModel:
    """Least relative shifts (standard deviations), in (0, 1), whatever the samples show.

    ``session_sd_floor``: between sessions, hours or days apart. ``start_sd_floor``: between process
    starts in the same minutes, as the sides of interleaved pairs are. ``ratio_sd_floor``: between
    sessions, of what is measured as a ratio within one: the machine's own shift cancels.
    ``start_dof``: starts that ``start_sd_floor`` is as good as.
    """

    session_sd_floor: float = 0.01
    start_sd_floor: float = 0.005
    ratio_sd_floor: float = 0.01
    start_dof: int = 8

    def shift_between_starts(self, seen: float, dof: int, engines: float) -> tuple[float, float]:
        """Variance of the shift between starts of ``engines`` engines, and degrees of freedom.

        ``engines``: halved where a value is the mean over two starts. ``seen``: variance estimated
        over ``dof + 1`` values. Three starts estimate badly, and t with two degrees of freedom
        finds nothing; so what is seen beyond the floor is weighed against the floor as if that came
        from ``start_dof`` starts more (Smyth's moderated t, Stat. Appl. Genet. Mol. Biol. 3, 2004).
        """
        floor = engines * self.start_sd_floor**2
        if seen <= floor:
            return floor, math.inf
        total = dof + self.start_dof
        return floor + (seen - floor) * dof / total, total

    def of(self, metric: str) -> NoiseModel:
        """The model for one metric: a speed-up and a stage's share are ratios.

        A speed-up's two engines are started anew for each session, and each start has its luck.
        """
        if not is_ratio(metric):
            return self
        floor = max(self.ratio_sd_floor, math.sqrt(2) * self.start_sd_floor)
        return replace(self, session_sd_floor=floor)


@dataclass(frozen=True)
class Difference:
    """log(value / baseline) with its standard error and degrees of freedom."""

    log_ratio: float
    standard_error: float
    dof: float

    def p_below(self) -> float:
        """One-sided p of "the value is not below the baseline"."""
        return self._tail(self.log_ratio)

    def p_above(self) -> float:
        """One-sided p of "the value is not above the baseline"."""
        return self._tail(-self.log_ratio)

    def quantile(self, probability: float) -> float:
        """Of the noise of the log ratio."""
        from scipy.special import stdtrit

        return float(stdtrit(self.dof, probability)) * self.standard_error

    def half_width(self, level: float = 0.95) -> float:
        """Half the confidence interval of the log ratio."""
        return self.quantile((1 + level) / 2)

    def _tail(self, log_ratio: float) -> float:
        from scipy.special import stdtr  # scipy.stats takes a second to import

        return float(stdtr(self.dof, log_ratio / self.standard_error))


def log_gain(change: float, higher_is_better: bool) -> float:
    """A relative change for the better (negative: for the worse) on the scale of log gains."""
    return math.log1p(change) if higher_is_better else -math.log1p(-change)


def squares(values: Sequence[float]) -> float:
    """Sum of squared deviations from the mean; thousands of short lists, so neither `statistics`
    (exact fractions) nor numpy."""
    mean = statistics.fmean(values)
    return math.fsum((value - mean) ** 2 for value in values)


def pooled(parts: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Standard error and Welch-Satterthwaite degrees of freedom of summed (variance, dof) parts."""
    variance = math.fsum(part for part, _ in parts)
    spread = math.fsum(part**2 / dof for part, dof in parts if part)
    return math.sqrt(variance), variance**2 / spread if spread else math.inf


def difference(value: Sessions, baseline: Sessions, model: NoiseModel) -> Difference:
    """Compare session medians in logs; all samples positive, no empty session."""
    groups = [SessionGroup.of(value), SessionGroup.of(baseline)]
    parts = [_between(groups, model), *((g.noise, g.round_dof) for g in groups)]
    return Difference(groups[0].mean - groups[1].mean, *pooled(parts))


@dataclass(frozen=True)
class SessionGroup:
    """Sessions of one side, in logs.

    ``mean``: of the session medians, whose variance is ``median_variance``. ``noise``: what round
    noise, of variance ``round_variance``, adds to the variance of ``mean``.
    """

    mean: float
    sessions: int
    median_variance: float
    noise: float
    round_variance: float
    round_dof: int

    @classmethod
    def of(cls, samples: Sessions) -> SessionGroup:
        """All samples positive, no empty session."""
        logs = [[math.log(value) for value in session] for session in samples]
        medians = [statistics.median(session) for session in logs]
        round_dof = sum(map(len, logs)) - len(logs)
        round_variance = math.fsum(map(squares, logs)) / round_dof if round_dof else 0.0
        median_noise = [round_variance * _median_factor(len(s)) / len(s) for s in logs]
        return cls(
            mean=statistics.fmean(medians),
            sessions=len(logs),
            median_variance=squares(medians) / (len(medians) - 1) if len(medians) > 1 else 0.0,
            noise=statistics.fmean(median_noise) / len(logs),
            round_variance=round_variance,
            round_dof=round_dof,
        )

    @property
    def shift_variance(self) -> float:
        """Variance between sessions beyond what their rounds' noise explains; may be negative."""
        return self.median_variance - self.noise * self.sessions


def _between(groups: Sequence[SessionGroup], model: NoiseModel) -> tuple[float, float]:
    """What the shift between sessions adds to the variance, and its degrees of freedom."""
    dof = sum(g.sessions - 1 for g in groups)
    weighted = (max(0.0, g.shift_variance) * (g.sessions - 1) for g in groups)
    seen = math.fsum(weighted) / dof if dof else 0.0
    floor = model.session_sd_floor**2
    variance = max(seen, floor)
    share = sum(1 / g.sessions for g in groups)
    return variance * share, dof if seen > floor else math.inf


def _median_factor(rounds: int) -> float:
    return MEDIAN_VARIANCE if rounds > 2 else 1.0  # the median of two is their mean
