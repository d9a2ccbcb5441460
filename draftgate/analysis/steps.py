"""Decode steps as flat arrays: the form that acceptance is analysed in, of our records or a trace.

A measured request has the steps its engine took; a trace has one at every position, as if a step
had started there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from draftgate.analysis.traces import BoolArray, IntArray, Trace
from draftgate.engine.records import RequestRecord, RoundRecord


@dataclass(frozen=True, eq=False)
class Steps:
    """The S decode steps of one request; the prefill is none.

    ``position`` (S): output tokens generated before. ``returned`` (S): tokens of the output that
    came of the step. ``emitted`` (S): accepted drafts and one, also those behind EOS, which the
    engine cuts from what it returns. ``drafted`` (S): 0 where nothing was drafted or the engine
    kept no record of it.
    """

    request_id: str
    output_tokens: int
    position: IntArray
    returned: IntArray
    emitted: IntArray
    drafted: IntArray

    @property
    def tokens_per_step(self) -> float | None:
        """Mean of ``returned``; None without a step."""
        return float(self.returned.mean()) if len(self.returned) else None

    def taken(self, chosen: BoolArray) -> Steps:
        """The same with the ``chosen`` (S) steps only."""
        return Steps(
            self.request_id,
            self.output_tokens,
            self.position[chosen],
            self.returned[chosen],
            self.emitted[chosen],
            self.drafted[chosen],
        )


def measured_steps(record: RoundRecord) -> tuple[Steps, ...]:
    """Steps of a round's requests, in order; further copies of a replicated prompt are left out."""
    first = {request.prompt_id: request for request in reversed(record.requests)}
    return tuple(_measured(request) for request in reversed(first.values()))


def trace_steps(trace: Trace, proposer: str) -> tuple[Steps, ...]:
    """A step at every position of a trace; raises TraceError where it lacks the proposer."""
    return tuple(
        Steps(
            request.request_id,
            len(entries),
            np.arange(1, len(entries), dtype=np.int64),
            entries[1:],
            entries[1:],
            np.full(max(len(entries) - 1, 0), trace.cap, dtype=np.int64),
        )
        for request, entries in zip(trace.requests, trace.acceptance_of(proposer), strict=True)
    )


def _measured(request: RequestRecord) -> Steps:
    returned = np.array(request.emitted, dtype=np.int64)
    emitted = returned[1:].copy()
    if len(emitted):  # what was accepted beyond what was returned is behind the end of the output
        emitted[-1] += max(0, sum(request.accepted) - int((emitted - 1).sum()))
    return Steps(
        request.prompt_id,
        len(request.output_token_ids),
        np.cumsum(returned)[:-1],
        returned[1:],
        emitted,
        np.array(list(_drafted(emitted.tolist(), request)), dtype=np.int64),
    )


def _drafted(emitted: Sequence[int], request: RequestRecord) -> Iterator[int]:
    """Drafted tokens of each step: verifications are recorded in order, steps without are not.

    Where a step without drafts precedes one that accepted none, the two may be exchanged.
    """
    verifications = list(zip(request.drafted, request.accepted, strict=False))
    at = 0
    for tokens in emitted:
        matches = at < len(verifications) and verifications[at][1] + 1 == tokens
        yield verifications[at][0] if matches else 0
        at += matches
