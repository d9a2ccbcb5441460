"""Why throughput moved: acceptance (tokens per step), step time and which stage of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

UNCHANGED_TIME = 0.01  # step times are timed: closer than this is noise

UNEXPLAINED = 0.02  # what the two factors leave over, worth naming

NAMED_STAGE = 1 / 3  # of the largest move of a stage: smaller ones are not named


class Factor(StrEnum):
    """What throughput is made of: tokens per step x requests in a step / step time."""

    STEP_TIME = "step time"
    ACCEPTANCE = "acceptance"
    OCCUPANCY = "requests in a step"


@dataclass(frozen=True)
class Factors:
    """Ratios new / old; what is None is not known.

    ``acceptance_noise``: largest relative move of tokens per step that is no change; 0 where it is
    exact. ``stages_ms``: move of each stage, milliseconds a step, of the stages that both sides
    timed.
    """

    throughput: float | None = None
    tokens_per_step: float | None = None
    step_time: float | None = None
    stages_ms: Mapping[str, float] = field(default_factory=dict)
    acceptance_noise: float = 0.0

    @property
    def moved(self) -> tuple[Factor, ...]:
        """The factors that moved, either way."""
        noise = {
            Factor.STEP_TIME: UNCHANGED_TIME,
            Factor.ACCEPTANCE: self.acceptance_noise,
            Factor.OCCUPANCY: UNEXPLAINED,
        }
        return tuple(
            factor
            for factor, ratio in self._ratios().items()
            if ratio is not None and abs(ratio - 1) > noise[factor]
        )

    @property
    def moved_stages(self) -> tuple[str, ...]:
        """Where step time moved: the stages that moved most, the largest move first."""
        if Factor.STEP_TIME not in self.moved:
            return ()
        moves = {stage: abs(ms) for stage, ms in self.stages_ms.items() if ms}
        least = NAMED_STAGE * max(moves.values(), default=0.0)
        named = [stage for stage, move in moves.items() if move >= least]
        return tuple(sorted(named, key=lambda stage: -moves[stage]))

    def text(self) -> str:
        """Such as ``step time +7.1 % (verify +0.9 ms), acceptance unchanged``."""
        parts = [self._step_time(), self._acceptance(), self._occupancy()]
        return ", ".join(part for part in parts if part)

    def _ratios(self) -> dict[Factor, float | None]:
        rest = None
        if self.throughput and self.tokens_per_step and self.step_time:
            rest = self.throughput * self.step_time / self.tokens_per_step
        return {
            Factor.STEP_TIME: self.step_time,
            Factor.ACCEPTANCE: self.tokens_per_step,
            Factor.OCCUPANCY: rest,
        }

    def _step_time(self) -> str:
        if self.step_time is None:
            return ""
        if Factor.STEP_TIME not in self.moved:
            return "step time unchanged"
        stages = ", ".join(f"{s} {_milliseconds(self.stages_ms[s])}" for s in self.moved_stages)
        return f"step time {signed_percent(self.step_time)}" + (f" ({stages})" if stages else "")

    def _acceptance(self) -> str:
        if self.tokens_per_step is None:
            return ""
        if Factor.ACCEPTANCE not in self.moved:
            return "acceptance unchanged"
        return f"tokens per step {signed_percent(self.tokens_per_step)}"

    def _occupancy(self) -> str:
        ratio = self._ratios()[Factor.OCCUPANCY]
        if ratio is None or Factor.OCCUPANCY not in self.moved:
            return ""
        return f"requests in a step {signed_percent(ratio)}"


def signed_percent(ratio: float) -> str:
    """``0.931`` -> ``-6.9 %``."""
    return f"{100 * (ratio - 1):+.1f} %"


def _milliseconds(change: float) -> str:
    return f"{change:+.1f} ms" if abs(change) >= 0.1 else f"{change:+.2g} ms"
