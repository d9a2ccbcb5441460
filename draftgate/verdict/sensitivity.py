"""The smallest change that a comparison would have found: what an OK is worth."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from draftgate.verdict.noise import Difference, log_gain


@dataclass(frozen=True)
class Sensitivity:
    """``detectable``: relative loss found with probability ``power`` at significance ``alpha``.

    ``standard_error``: of the log ratio, with ``dof`` degrees of freedom (inf: noise known).
    """

    standard_error: float
    dof: float
    alpha: float
    power: float
    detectable: float

    @classmethod
    def of(
        cls, moved: Difference, limit: float, higher_is_better: bool, alpha: float, power: float
    ) -> Sensitivity:
        """Of a rule that asks for an effect beyond ``limit`` and p < ``alpha``.

        The estimate must pass the larger of the two thresholds, and does so with probability
        ``power`` where the true loss lies that quantile of its noise behind it.
        """
        needed = max(-log_gain(-limit, higher_is_better), moved.quantile(1 - alpha))
        behind = needed + moved.quantile(power)
        loss = -math.expm1(-behind) if higher_is_better else math.expm1(behind)
        return cls(moved.standard_error, moved.dof, alpha, power, loss)

    def record(self) -> dict[str, Any]:
        """JSON types only; ``dof`` null: the noise is known."""
        return {**asdict(self), "dof": self.dof if math.isfinite(self.dof) else None}
