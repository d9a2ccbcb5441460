"""`Candidate`: a measured cell on its way to become a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

from pydantic import ValidationError

from draftgate.baseline.errors import refused
from draftgate.baseline.schema import ExactBaseline, StoredSamples, TimedBaseline
from draftgate.measure.exact import ExactMetrics
from draftgate.measure.per_prompt import Ratios

NOT_STORED = "not stored: measure the cell again"


@dataclass(frozen=True)
class Candidate:
    """A measured cell that may become a baseline.

    ``key``: ISA class (exact) or fingerprint (timed). ``broken``: identities that do not hold.
    ``problem``: any other reason why the measurement is not valid (failed, too noisy). ``limits``:
    the profile's largest tolerated relative losses of timed metrics. ``parting``: how many of the
    texts may differ between equal engines (`lengths_shifted`).
    """

    cell_id: str
    key: str
    baseline: ExactBaseline | TimedBaseline
    broken: tuple[str, ...] = ()
    problem: str | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    parting: int = 0

    @classmethod
    def exact(
        cls,
        cell_id: str,
        isa: str,
        workload_hash: str,
        metrics: ExactMetrics,
        by_prompt: Mapping[str, Ratios] = MappingProxyType({}),
        **validity: Any,
    ) -> Self:
        """From a measurement's exact metrics; raises BaselineError on a 0 that cannot be stored.

        ``by_prompt``: see `ExactBaseline`.
        """
        try:
            baseline = ExactBaseline.model_validate(
                {
                    "workload_hash": workload_hash,
                    "metrics": metrics.model_dump(),
                    "by_prompt": {name: dict(counts) for name, counts in by_prompt.items()},
                }
            )
        except ValidationError as error:
            raise refused(error, cell_id, remedy=NOT_STORED) from None
        return cls(cell_id, isa, baseline, **validity)

    @classmethod
    def timed(
        cls,
        cell_id: str,
        fingerprint: str,
        workload_hash: str,
        samples: Mapping[str, Sequence[Sequence[float]]],
        output_tokens: int | None = None,
        **validity: Any,
    ) -> Self:
        """From samples, metric -> sessions of rounds; raises BaselineError on 0, NaN, infinity.

        ``output_tokens``: see `TimedBaseline`.
        """
        try:
            metrics = {name: StoredSamples.of(sessions) for name, sessions in samples.items()}
            baseline = TimedBaseline(
                workload_hash=workload_hash, metrics=metrics, output_tokens=output_tokens
            )
        except ValidationError as error:
            raise refused(error, cell_id, remedy=NOT_STORED) from None
        return cls(cell_id, fingerprint, baseline, **validity)
