"""A trace: token sequences with what a proposer's drafts would have yielded at every position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from draftgate.analysis.errors import TraceError

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.floating[Any]]
TokenArray = npt.NDArray[np.int32]

RECORD_CAP = 20
"""Most tokens a recorded position drafted; an entry emits at most one more, the bonus token."""


@dataclass(frozen=True, eq=False)
class TraceRequest:
    """One request.

    ``prompt_ids`` is empty where the record keeps only the prompt's length, ``prompt_tokens``.
    ``acceptance[proposer][j]``: tokens a step emits, bonus included, with ``j`` tokens generated;
    its length is that of the recording it was taken on, not always that of ``output_ids``.
    ``step_starts``: the entries that an engine's steps began at, where the recording is of steps;
    None where every entry was recorded for itself.
    """

    request_id: str
    prompt_tokens: int
    prompt_ids: TokenArray
    output_ids: TokenArray
    acceptance: Mapping[str, IntArray] = field(default_factory=dict)
    step_starts: IntArray | None = None


@dataclass(frozen=True, eq=False)
class Trace:
    """The requests of one file.

    ``cap``: most drafted tokens that ``acceptance`` can show. ``match_probability``: how often the
    proposer drafted where nothing was accepted; None where the recording does not show it.
    """

    name: str
    path: Path
    requests: tuple[TraceRequest, ...]
    cap: int = RECORD_CAP
    match_probability: float | None = None

    @property
    def prompts_known(self) -> bool:
        """Whether every request has its prompt's token ids."""
        return all(len(r.prompt_ids) == r.prompt_tokens for r in self.requests)

    @property
    def proposers(self) -> tuple[str, ...]:
        """Whose acceptance every request has."""
        held = [set(request.acceptance) for request in self.requests]
        return tuple(sorted(set.intersection(*held))) if held else ()

    def acceptance_of(self, proposer: str) -> list[IntArray]:
        """The entries of ``proposer``, one array a request; raises TraceError where missing."""
        arrays = [r.acceptance.get(proposer) for r in self.requests]
        found = [array for array in arrays if array is not None]
        if len(found) < len(arrays):
            held = sorted({name for r in self.requests for name in r.acceptance})
            raise TraceError(
                f"{self.path}: request {self.requests[arrays.index(None)].request_id!r} has no "
                f"acceptance of {proposer!r}; the trace holds {', '.join(held) or 'none'}"
            )
        return found
