"""One verification step of several requests, as every sampler's adapter takes it.

Requests are flat, one after the other, in vLLM's order: a request with k drafts owns k rows of
`drafts` and `proposal`, and k + 1 rows of `logits`, the last of which is its bonus row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from draftgate.lossless.law import PLACEHOLDER

IntArray: TypeAlias = npt.NDArray[np.integer[Any]]
FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
BoolArray: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Penalties:
    """Penalties of each request [requests], and the text that they count."""

    repetition: FloatArray
    frequency: FloatArray
    presence: FloatArray
    prompts: Sequence[Sequence[int]]


@dataclass(frozen=True, eq=False)
class Sampling:
    """How each request samples. None: no request uses it."""

    temperature: FloatArray  # [requests] float32; 0 is greedy
    top_k: IntArray | None = None  # [requests] int32 in 1..vocabulary
    top_p: FloatArray | None = None  # [requests] float32 in (0, 1]
    seeds: Mapping[int, int] = field(default_factory=dict)  # request -> seed; others share one
    penalties: Penalties | None = None
    bad_words: Mapping[int, Sequence[Sequence[int]]] = field(default_factory=dict)
    allowed: BoolArray | None = None  # [requests, vocabulary]
    outputs: Sequence[Sequence[int]] | None = None  # tokens that each request has emitted so far


@dataclass(frozen=True, eq=False)
class Batch:
    """Drafts to verify, with the target's logits and the proposer's probabilities.

    Raises ValueError where shapes disagree, there is no request, or a draft is no id: samplers
    index memory with what is given here.
    """

    lengths: IntArray  # [requests] int32: drafts of each request, possibly 0
    drafts: IntArray  # [tokens] int32: ids, or -1 for a placeholder
    logits: FloatArray  # [tokens + requests, vocabulary] float32
    proposal: FloatArray | None  # [tokens, vocabulary] float32; None: drafts count as certain
    sampling: Sampling
    stored: Literal["float32", "bfloat16"] = "float32"  # type of the logits that a sampler gets

    def __post_init__(self) -> None:
        requests, tokens = len(self.lengths), int(self.lengths.sum())
        shapes: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
            "drafts": (self.drafts.shape, (tokens,)),
            "logits": (self.logits.shape[:1], (tokens + requests,)),
            "temperature": (self.sampling.temperature.shape, (requests,)),
        }
        if self.proposal is not None:
            shapes["proposal"] = (self.proposal.shape, (tokens, self.vocab))
        for name, (found, wanted) in shapes.items():
            if found != wanted:
                raise ValueError(f"{name} has shape {found}, lengths ask for {wanted}")
        if requests == 0:
            raise ValueError("a batch needs at least one request")
        if ((self.drafts < PLACEHOLDER) | (self.drafts >= self.vocab)).any():
            raise ValueError(f"drafts must be -1 or ids below {self.vocab}: {self.drafts.tolist()}")

    @property
    def vocab(self) -> int:
        """Size of the vocabulary."""
        return int(self.logits.shape[1])

    @property
    def starts(self) -> IntArray:
        """Index of each request's first draft [requests]."""
        return np.cumsum(self.lengths) - self.lengths

    @property
    def bonus_rows(self) -> IntArray:
        """Row of ``logits`` that holds each request's bonus distribution [requests]."""
        return np.cumsum(self.lengths + 1) - 1

    @property
    def target_rows(self) -> IntArray:
        """Row of ``logits`` for each draft [tokens]."""
        return np.delete(np.arange(len(self.logits)), self.bonus_rows)

    def windows(self) -> list[tuple[int, ...]]:
        """The drafts of each request."""
        parts = np.split(self.drafts, np.cumsum(self.lengths)[:-1])
        return [tuple(map(int, part)) for part in parts]


def greedy_sampling(requests: int) -> Sampling:
    """Every request at temperature 0."""
    return Sampling(temperature=np.zeros(requests, np.float32))


def random_sampling(requests: int) -> Sampling:
    """Every request at temperature 1, without top-k and top-p."""
    return Sampling(temperature=np.ones(requests, np.float32))
