"""vLLM's own n-gram code over recorded tokens."""

from __future__ import annotations

import numpy as np
import pytest

from draftgate.analysis.errors import ReplayError
from draftgate.analysis.ngram import NgramProposer
from draftgate.analysis.open_trace import open_trace
from draftgate.analysis.replay import Method, record_of, replay

pytest.importorskip("vllm")


@pytest.fixture(scope="module")
def as_recorded() -> NgramProposer:
    return NgramProposer(3, 7, 20)


def test_a_repeated_span_is_drafted_once_three_tokens_match() -> None:
    prompt = np.array([10, 11, 12, 13, 14, 15], dtype=np.int32)
    output = np.array([10, 11, 12, 13, 14, 99], dtype=np.int32)
    found = NgramProposer(3, 7, 2).propose(prompt, output)
    drafts = [found.tokens[row, :count].tolist() for row, count in enumerate(found.counts)]
    assert drafts == [[], [], [], [13, 14], [14, 15], [15, 10]]


def test_a_short_context_drafts_nothing() -> None:
    empty, output = np.empty(0, dtype=np.int32), np.array([5, 5], dtype=np.int32)
    assert NgramProposer(3, 7, 2).propose(empty, output).counts.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [((0, 7, 3), "lookup 0 to 7"), ((5, 3, 3), "lookup 5 to 3"), ((3, 7, 0), "cap 0")],
)
def test_impossible_settings(settings, message) -> None:
    with pytest.raises(ReplayError, match=message):
        NgramProposer(*settings)


@pytest.mark.parametrize("workload", ["gsm8k", "instructcoder"])
def test_the_recorded_acceptance_comes_back(paper_trace, as_recorded, workload) -> None:
    trace = open_trace(paper_trace(workload))
    found = record_of(replay(trace, Method("ngram", 20, 3, 7), as_recorded))
    assert found["positions"] == sum(len(r.output_ids) for r in trace.requests)
    assert found["agreement"] >= 0.995
