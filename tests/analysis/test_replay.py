"""Replay with a proposer of ours: what counts as accepted, the records, the best of a sweep."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftgate.analysis.errors import ReplayError
from draftgate.analysis.proposals import Proposals, emitted_lengths
from draftgate.analysis.replay import Method, best, record_of, replay, tokens_per_step
from draftgate.analysis.simulate import Setup
from draftgate.analysis.suffix import SuffixProposer
from draftgate.analysis.sweep import methods
from draftgate.analysis.traces import Trace, TraceRequest


def ids(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def one_request(prompt, output, **acceptance) -> Trace:
    entries = {name: np.array(values) for name, values in acceptance.items()}
    request = TraceRequest("0", len(prompt), ids(*prompt), ids(*output), entries)
    return Trace("mine", Path("mine.jsonl"), (request,))


class Repeater:
    """Drafts the last token again, ``cap`` times; nothing without context."""

    def __init__(self, cap: int) -> None:
        self.cap = cap

    def propose(self, prompt, output) -> Proposals:
        last = np.concatenate([prompt, output])[len(prompt) - 1 :][: len(output)]
        counts = np.full(len(output), self.cap)
        return Proposals(np.repeat(last[:, None], self.cap, axis=1), counts)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=12), st.integers(1, 4), st.data())
def test_emitted_counts_leading_agreement(output, cap, data) -> None:
    drafts = [
        data.draw(st.lists(st.integers(0, 2), max_size=cap), label=f"drafts {j}")
        for j in range(len(output))
    ]
    tokens = np.zeros((len(output), cap), dtype=np.int32)
    for row, draft in enumerate(drafts):
        tokens[row, : len(draft)] = draft

    def expected(j: int) -> int:
        agreed = 0
        for drafted, real in zip(drafts[j], output[j:], strict=False):
            if drafted != real:
                break
            agreed += 1
        return 1 + agreed

    proposals = Proposals(tokens, np.array([len(draft) for draft in drafts]))
    found = emitted_lengths(proposals, ids(*output))
    assert found.tolist() == [expected(j) for j in range(len(output))]


def test_a_record_of_steps_is_compared_where_they_started() -> None:
    prompt, output = ids(1, 4), ids(4, 4, 4, 4, 5, 5, 5)
    # Steps at 1 and 4; the entries between are what was left of them, not drafts of their own.
    entries = {"ngram": np.array([1, 3, 2, 1, 1, 2, 1])}
    request = TraceRequest("0", 2, prompt, output, entries, np.array([1, 4, 5]))
    trace = Trace("mine", Path("mine.json"), (request,), cap=2)
    replayed = replay(trace, Method("ngram", 5), Repeater(5))
    assert replayed.emitted[0].tolist() == [5, 4, 3, 2, 1, 3, 2]
    assert record_of(replayed)["agreement"] == 1.0


def test_a_record() -> None:
    trace = one_request([1, 4], [4, 4, 4, 5, 5], ngram=[4, 3, 2, 2, 2])
    replayed = replay(trace, Method("ngram", 2, 3, 7), Repeater(2))
    assert replayed.emitted[0].tolist() == [3, 3, 2, 1, 2]
    assert record_of(replayed) == {
        "trace": "mine",
        "method": "ngram",
        "prompt_lookup_min": 3,
        "prompt_lookup_max": 7,
        "cap": 2,
        "positions": 5,
        "acceptance_length": 2.2,
        "agreement": 0.8,  # the record, cut to the cap: 3 3 2 2 2
    }


def test_agreement_is_null_where_there_is_no_record_of_the_method() -> None:
    trace = one_request([1, 4], [4, 4], eagle3=[1, 1])
    assert record_of(replay(trace, Method("suffix", 2), Repeater(2)))["agreement"] is None


def test_tokens_per_step_follow_the_engines_path() -> None:
    """After the prefill's token: 4 4, then 5 alone, then 5: three steps for four tokens."""
    trace = one_request([1, 4], [4, 4, 4, 5, 5])
    assert tokens_per_step(replay(trace, Method("ngram", 1), Repeater(1))) == pytest.approx(4 / 3)
    alone = one_request([1], [4])
    assert tokens_per_step(replay(alone, Method("ngram", 1), Repeater(1))) is None


def test_the_best_drafts_as_much_as_is_accepted() -> None:
    trace = one_request([4] * 9, [4] * 40)
    caps = (1, 6, 3)
    replays = [replay(trace, Method("ngram", cap), Repeater(cap)) for cap in caps]
    winner, speedup = best(replays, Setup(batch_sizes=(1,)))
    assert winner.method.cap == 6
    assert speedup > 3


def test_sweeps_leave_impossible_lookups_out() -> None:
    swept = methods("ngram", [2, 5], [3, 7], [1, 4])
    assert [(m.prompt_lookup_min, m.prompt_lookup_max, m.cap) for m in swept] == [
        (2, 3, 1), (2, 3, 4), (2, 7, 1), (2, 7, 4), (5, 7, 1), (5, 7, 4),
    ]  # fmt: skip
    assert methods("suffix", [2], [3], [4]) == (Method("suffix", 4),)
    with pytest.raises(ReplayError, match="smallest is at most the largest"):
        methods("ngram", [5], [3], [4])
    with pytest.raises(ReplayError, match="unknown method 'magic'; there are ngram, suffix"):
        methods("magic", [2], [3], [4])


class FakeSuffixCache:
    """Notes its calls and drafts the last token twice."""

    def __init__(self) -> None:
        self.calls: list[tuple] = []

    def start_request(self, request, prompt) -> None:
        self.calls.append(("start", request, prompt.tolist()))

    def add_active_response(self, request, tokens) -> None:
        self.calls.append(("add", request, tokens))

    def speculate(self, request, pattern, **limits) -> SimpleNamespace:
        assert limits["max_spec_tokens"] == 2
        self.calls.append(("ask", request, pattern.tolist()))
        return SimpleNamespace(token_ids=[int(pattern[-1])] * 2)

    def stop_request(self, request) -> None:
        self.calls.append(("stop", request))


def test_suffix_decoding_is_asked_as_vllm_asks_it() -> None:
    cache = FakeSuffixCache()
    proposals = SuffixProposer(2, cache).propose(ids(1, 2), ids(7, 7, 8))
    assert proposals.counts.tolist() == [0, 2, 2]
    assert emitted_lengths(proposals, ids(7, 7, 8)).tolist() == [1, 2, 1]
    assert cache.calls == [
        ("start", 0, [1, 2]),
        ("add", 0, [7]), ("ask", 0, [1, 2, 7]),
        ("add", 0, [7]), ("ask", 0, [1, 2, 7, 7]),
        ("add", 0, [8]),
        ("stop", 0),
    ]  # fmt: skip
