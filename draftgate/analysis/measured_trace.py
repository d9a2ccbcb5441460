"""A cell of our own results as a trace.

The record holds the steps the engine took, not what drafting at every position would have yielded.
An entry between two steps is the rest of the step that covers it: exact along the path taken (the
recorded k and the oracle), a lower bound elsewhere. Records of schema 1 know prompts by length
only.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from draftgate.analysis.errors import TraceError
from draftgate.analysis.traces import RECORD_CAP, IntArray, TokenArray, Trace, TraceRequest
from draftgate.engine.records import RequestRecord
from draftgate.measure.record import Measurement, MeasurementError


def read_measured(path: Path) -> Trace:
    """The first round of a measured cell; raises TraceError on anything else.

    The proposer is named after the variant's method: ``eagle3`` for ``llama-tiny/eagle3-k3``.
    """
    try:
        block = Measurement.read(path).draftgate
    except MeasurementError as error:
        raise TraceError(str(error)) from None
    k = block.subject.k
    proposer = block.subject.proposer
    records = block.rounds[0].requests
    prompts = {r.prompt_id: r.prompt_token_ids for r in records if r.prompt_token_ids}
    requests = tuple(
        _request(r, proposer, prompts.get(r.prompt_id, ()))
        for r in records
        if r.output_token_ids and r.emitted
    )
    if not requests:
        raise TraceError(f"{path}: no request has output tokens; measure the cell again")
    chance = _match_probability(records)
    return Trace(block.subject.cell, path, requests, cap=k or RECORD_CAP, match_probability=chance)


def _match_probability(records: Sequence[RequestRecord]) -> float | None:
    """The share of decode steps of one token that had drafts; None without such a step."""
    single = sum(record.emitted[1:].count(1) for record in records)
    rejected = sum(record.accepted.count(0) for record in records)
    return min(1.0, rejected / single) if single else None


def _request(record: RequestRecord, proposer: str | None, prompt: tuple[int, ...]) -> TraceRequest:
    acceptance = {proposer: entries(record.emitted)} if proposer else {}
    output: TokenArray = np.array(record.output_token_ids, dtype=np.int32)
    prompt_ids: TokenArray = np.array(prompt, dtype=np.int32)
    starts = np.cumsum(record.emitted, dtype=np.int64)[:-1]
    return TraceRequest(
        record.prompt_id, record.prompt_tokens, prompt_ids, output, acceptance, starts
    )


def entries(emitted: Sequence[int]) -> IntArray:
    """Entry j = tokens from j to the end of the step that covers j: 3 -> 3, 2, 1."""
    return np.concatenate([np.arange(count, 0, -1, dtype=np.int64) for count in emitted])
