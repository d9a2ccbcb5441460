"""What a baseline file holds. Numbers are strict: no strings, no NaN, no infinity, no 0.

Only counts of a proposer that may fail (accepted tokens, later positions) can be 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from draftgate.baseline.address import CELL_KEY
from draftgate.engine.records import Record
from draftgate.measure.exact import ExactMetrics
from draftgate.measure.sessions import Sessions, median_of

SCHEMA_VERSION = 1

Count = Annotated[int, Field(strict=True, ge=0)]
PositiveCount = Annotated[int, Field(strict=True, gt=0)]
Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
Limit = Annotated[float, Field(strict=True, gt=0, lt=1)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
CellKey = Annotated[str, StringConstraints(pattern=rf"^{CELL_KEY.pattern}$")]
NonEmpty = Annotated[str, StringConstraints(min_length=1)]
Session = Annotated[tuple[Positive, ...], Field(min_length=1)]


def significant(value: float) -> float:
    """Rounded to four significant digits, as timed values are stored."""
    return float(f"{value:.4g}")


class Provenance(Record):
    """Of the last update: what was under test, and why. Not part of any comparison."""

    commit: NonEmpty
    date: NonEmpty
    vllm: NonEmpty
    torch: NonEmpty
    reason: str = ""


class StoredExact(ExactMetrics):
    """`ExactMetrics`, validated as hand-editable text. Acceptance counts: all four or none."""

    outputs_hash: Sha256
    output_tokens: PositiveCount
    decode_tokens: PositiveCount
    decode_steps: PositiveCount
    num_drafts: PositiveCount | None = None
    draft_tokens: PositiveCount | None = None
    accepted_tokens: Count | None = None
    accepted_per_position: tuple[Count, ...] | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        counts = (
            self.num_drafts,
            self.draft_tokens,
            self.accepted_tokens,
            self.accepted_per_position,
        )
        if 0 < sum(count is None for count in counts) < len(counts):
            raise ValueError("acceptance counts are incomplete")
        return self


class StoredSamples(Record):
    """Samples of a timed metric, one tuple of rounds a session; ``n``: sessions."""

    samples: Annotated[tuple[Session, ...], Field(min_length=1)]
    median: Positive
    n: PositiveCount

    @classmethod
    def of(cls, samples: Sequence[Sequence[float]]) -> Self:
        """Rounded to four significant digits; raises pydantic's ValidationError on bad samples."""
        rounded = tuple(tuple(significant(value) for value in session) for session in samples)
        return cls(samples=rounded, median=_median(rounded), n=len(rounded))

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.n != len(self.samples):
            raise ValueError(f"n is {self.n}, but there are {len(self.samples)} sessions")
        if self.median != (expected := _median(self.samples)):
            raise ValueError(f"median is {self.median}, but the samples' is {expected}")
        return self


class ExactBaseline(Record):
    """Exact metrics of a cell. ``note`` is written by hand and survives updates.

    ``by_prompt``: where equal software need not write equal tokens (a GPU), acceptance as two
    counts a prompt, metric -> prompt id -> counts: its noise is between prompts.
    """

    workload_hash: Sha256
    metrics: StoredExact
    by_prompt: dict[str, dict[str, tuple[Count, Count]]] = Field(default_factory=dict)
    note: str = ""


class TimedBaseline(Record):
    """Timed metrics of a cell. ``note`` and ``limits`` are written by hand and survive updates.

    ``output_tokens``: of the texts that were timed; None in files from before it was kept.
    ``limits``: metric -> largest tolerated relative loss, in place of the profile's.
    """

    workload_hash: Sha256
    metrics: Annotated[dict[str, StoredSamples], Field(min_length=1)]
    output_tokens: PositiveCount | None = None
    note: str = ""
    limits: dict[str, Limit] = Field(default_factory=dict)


class ExactFile(Record):
    """``portable/<isa>/<scenario>.json``."""

    schema_version: Literal[1] = 1
    kind: Literal["exact"] = "exact"
    scenario: str
    provenance: Provenance
    cells: dict[CellKey, ExactBaseline]


class TimedFile(Record):
    """``<fingerprint>/<scenario>.json``."""

    schema_version: Literal[1] = 1
    kind: Literal["timed"] = "timed"
    scenario: str
    provenance: Provenance
    cells: dict[CellKey, TimedBaseline]


def _median(samples: Sessions) -> float:
    return significant(median_of(samples)) if any(samples) else 0.0
