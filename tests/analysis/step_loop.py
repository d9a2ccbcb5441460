"""The simulator as a plain loop over steps: the reference for results and for speed.

Written from the paper's protocol: one step at a time, and in it every request of the batch, all of
which are copies. Nothing is shared with `draftgate.analysis` but the numbers of a cost model.
"""

from __future__ import annotations

import random

from draftgate.analysis.cost import CostModel
from draftgate.analysis.traces import Trace


def verify(cost: CostModel, kv_tokens: float, batched: float) -> float:
    target = cost.target
    return target.per_kv_token_s * kv_tokens + target.per_batched_token_s * batched + target.fixed_s


def draft(
    cost: CostModel, proposer: str, kv: float, tokens: float, passes: float, verify_s: float
) -> float:
    part = cost.drafts[proposer]
    return (
        part.verification_share * verify_s
        + part.per_kv_token_s * kv
        + part.per_token_s * tokens
        + part.per_pass_s * passes
        + part.fixed_s
    )


class Proposer:
    """Drafting on one request: ``ngram``, ``eagle3`` or ``combine``; k None is the oracle."""

    def __init__(self, name: str, k: int | None, accounting: str, match: float = 1.0) -> None:
        self.name, self.k, self.accounting, self.match = name, k, accounting, match
        self.random = random.Random(42)

    def entries(self, request) -> tuple[list[int], list[int]]:
        first = request.acceptance["ngram" if self.name != "eagle3" else "eagle3"].tolist()
        second = request.acceptance["eagle3" if self.name != "ngram" else "ngram"].tolist()
        return first, second

    def batched(self, gain: int) -> int:
        if self.name == "ngram" and gain == 1 and self.k is not None:
            return self.k + 1 if self.random.random() < self.match else 1
        return gain if self.k is None else self.k + 1

    def charged(self, first_wins: bool, batched: int) -> list[str]:
        if self.name == "ngram":
            return ["ngram"] if batched > 1 else []
        if self.name == "eagle3":
            return ["eagle3"]
        if self.accounting == "published":
            return ["ngram"]
        if self.accounting == "winner":
            return ["ngram" if first_wins else "eagle3"]
        return ["ngram", "eagle3"]


def request_seconds(
    cost: CostModel, prompt: int, first, second, proposer: Proposer, copies: int, switch_s=0.0
) -> float:
    """One batch of ``copies`` of a request, with speculative decoding."""
    length = min(len(first), len(second))
    seconds = verify(cost, 0, copies * prompt) + cost.overhead_s
    generated, winner = [1] * copies, None
    while generated[0] < length:
        kv = total_batched = 0
        for copy in range(copies):
            one, two = first[generated[copy] - 1], second[generated[copy] - 1]
            batched = proposer.batched(max(one, two))
            kv += prompt + generated[copy]
            total_batched += batched
            generated[copy] += min(max(one, two), batched)
        verify_s = verify(cost, kv, total_batched)
        seconds += verify_s + cost.overhead_s
        for name in proposer.charged(one >= two, batched):
            seconds += draft(cost, name, kv, batched, batched - 1, verify_s)
        if winner is not None and winner != (one >= two):
            seconds += switch_s
        winner = one >= two
    return seconds


def standard_seconds(cost: CostModel, prompt: int, length: int, copies: int) -> float:
    seconds = verify(cost, 0, copies * prompt) + cost.overhead_s
    generated = [1] * copies
    while generated[0] < length:
        kv = 0
        for copy in range(copies):
            kv += prompt + generated[copy]
            generated[copy] += 1
        seconds += verify(cost, kv, copies) + cost.overhead_s
    return seconds


def speedup(
    trace: Trace, cost: CostModel, proposer: Proposer, copies: int, switch_s: float = 0.0
) -> float:
    """Mean throughput over the requests / mean throughput of standard decoding."""
    with_drafts = without = 0.0
    for request in trace.requests:
        first, second = proposer.entries(request)
        length = min(len(first), len(second))
        prompt = request.prompt_tokens
        with_drafts += length / request_seconds(
            cost, prompt, first, second, proposer, copies, switch_s
        )
        without += length / standard_seconds(cost, prompt, length, copies)
    return with_drafts / without
