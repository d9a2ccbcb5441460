"""Small traces, made by hand and drawn by Hypothesis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from draftgate.analysis.positions import Positions, better_of, single, with_offers
from draftgate.analysis.traces import Trace, TraceRequest

NO_IDS = np.empty(0, dtype=np.int32)


def record(**changes: Any) -> dict[str, Any]:
    """A good line of a trace file."""
    whole = {
        "id": "7",
        "prompt_token_ids": [5, 6, 7],
        "generated_token_ids": [8, 9, 5, 6],
        "acc_ngram": {"acc_len": [1, 2, 1, 1]},
        "acc_eagle": {"acc_len": [1, 3, 2, 1, 1]},
    }
    return {key: value for key, value in (whole | changes).items() if value is not None}


def request(prompt_tokens: int, **acceptance: list[int]) -> TraceRequest:
    entries = {name: np.array(values) for name, values in acceptance.items()}
    return TraceRequest(f"r{prompt_tokens}", prompt_tokens, NO_IDS, NO_IDS, entries)


def trace(*requests: TraceRequest, name: str = "gsm8k") -> Trace:
    return Trace(name, Path(f"{name}.jsonl"), tuple(requests))


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Up to six requests with both proposers' entries, of their own lengths, some of one token."""
    entries = st.lists(st.integers(1, 21), min_size=1, max_size=25)
    prompts = draw(st.lists(st.integers(1, 400), min_size=1, max_size=6))
    return trace(*(request(p, ngram=draw(entries), eagle3=draw(entries)) for p in prompts))


@st.composite
def positions(draw: st.DrawFn) -> Positions:
    """Positions of such a trace, with drafts at some only (a gain of 1 where there are none)."""
    drawn = draw(traces())
    first, second = drawn.acceptance_of("ngram"), drawn.acceptance_of("eagle3")
    prompts = [r.prompt_tokens for r in drawn.requests]
    lag = draw(st.booleans())
    if draw(st.booleans()):
        return better_of(first, second, prompts, lag=lag)
    found = single(first, prompts, lag=lag)
    flags = draw(st.lists(st.booleans(), min_size=len(found.gain), max_size=len(found.gain)))
    return with_offers(found, np.array(flags, dtype=bool) | (found.gain > 1))
