"""The numbers of a round: pure functions of `RoundRecord` and k.

Acceptance is a ratio of vLLM's counters, which also count tokens past EOS; tokens and steps are
those the engine returned. A function yields None where its number does not exist (speculative
decoding off, no decode step), never 0.
"""

from __future__ import annotations

import hashlib
import statistics
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from draftgate.engine.records import RequestRecord, RoundRecord

RELATIVE_TO_CONTROL = frozenset({"speedup"})
"""Timed metrics that compare an arm with its control."""


def acceptance_length(record: RoundRecord) -> float | None:
    """1 + accepted / drafts: tokens a verification yields, bonus included, in [1, k+1]."""
    counters = record.counters
    if counters is None or counters.drafts == 0:
        return None
    return 1 + counters.accepted_tokens / counters.drafts


def acceptance_length_per_request(record: RoundRecord) -> float | None:
    """Unweighted mean of each request's own acceptance length, over requests that had drafts."""
    lengths = [1 + sum(r.accepted) / len(r.drafted) for r in record.requests if r.drafted]
    return statistics.fmean(lengths) if lengths else None


def draft_acceptance_rate(record: RoundRecord) -> float | None:
    """Accepted / drafted tokens, in [0, 1]."""
    counters = record.counters
    if counters is None or counters.draft_tokens == 0:
        return None
    return counters.accepted_tokens / counters.draft_tokens


def per_position_acceptance_rate(record: RoundRecord, k: int) -> tuple[float, ...] | None:
    """Share of drafts whose token i was accepted (marginal), length k; sums to AL - 1."""
    counters = record.counters
    if counters is None or counters.drafts == 0:
        return None
    padded = (*counters.per_position, *[0] * k)[:k]
    return tuple(count / counters.drafts for count in padded)


def drafted_tokens(record: RoundRecord) -> int | None:
    """Tokens the proposer offered."""
    return record.counters.draft_tokens if record.counters else None


def decode_steps(record: RoundRecord) -> int:
    """Output steps after each request's first (the prefill's), summed over requests."""
    return sum(max(len(r.emitted) - 1, 0) for r in record.requests)


def decode_tokens(record: RoundRecord) -> int:
    """Tokens those decode steps returned, summed over requests."""
    return sum(sum(r.emitted[1:]) for r in record.requests)


def tokens_per_step(record: RoundRecord) -> float | None:
    """Decode tokens / decode steps; counts steps without a draft. Exactly 1.0 without SD."""
    steps = decode_steps(record)
    return decode_tokens(record) / steps if steps else None


def output_throughput(record: RoundRecord) -> float:
    """Generated tokens per second of the round's wall time."""
    return record.generated_tokens / record.wall_s


def step_time_ms(record: RoundRecord) -> float | None:
    """Wall milliseconds per engine step, prefill steps included."""
    return 1000 * record.wall_s / record.steps if record.steps else None


def speedup(record: RoundRecord, control: RoundRecord) -> float:
    """Output throughput relative to the control arm's round of the same session."""
    return output_throughput(record) / output_throughput(control)


def paired_speedups(
    rounds: Sequence[RoundRecord], control_rounds: Sequence[RoundRecord]
) -> tuple[float, ...]:
    """Speed-up of each round over the control round timed next to it (same index)."""
    return tuple(speedup(r, c) for r, c in zip(rounds, control_rounds, strict=False))


def ttfts_ms(rounds: Iterable[RoundRecord]) -> tuple[float, ...]:
    """Time to first token of every request, milliseconds."""
    return tuple(1000 * r.ttft_s for record in rounds for r in record.requests)


def tpots_ms(rounds: Iterable[RoundRecord]) -> tuple[float, ...]:
    """(e2e - TTFT) / (n - 1) of every request with more than one token, milliseconds."""
    return tuple(
        1000 * (r.e2e_s - r.ttft_s) / (len(r.output_token_ids) - 1)
        for record in rounds
        for r in record.requests
        if len(r.output_token_ids) > 1
    )


def e2els_ms(rounds: Iterable[RoundRecord]) -> tuple[float, ...]:
    """End-to-end latency of every request, milliseconds."""
    return tuple(1000 * r.e2e_s for record in rounds for r in record.requests)


def summary_ms(name: str, values: Sequence[float]) -> dict[str, float]:
    """``mean_/median_/std_/p99_{name}_ms`` of `vllm bench serve`; empty without values."""
    if not values:
        return {}
    return {
        f"mean_{name}_ms": float(np.mean(values)),
        f"median_{name}_ms": float(np.median(values)),
        f"std_{name}_ms": float(np.std(values)),
        f"p99_{name}_ms": float(np.percentile(values, 99)),
    }


def request_hash(request: RequestRecord) -> str:
    """sha256 (hex) of one request's output token ids."""
    return hashlib.sha256(_spelled(request)).hexdigest()


def outputs_hash(record: RoundRecord) -> str:
    """sha256 (hex) of all requests' output token ids, in prompt order."""
    return hashlib.sha256(b"\n".join(map(_spelled, record.requests))).hexdigest()


def timed_samples(
    rounds: Sequence[RoundRecord], control_rounds: Sequence[RoundRecord] = ()
) -> dict[str, tuple[float, ...]]:
    """Samples of every timed metric, one a round; metrics that do not exist are absent."""
    samples = {
        "output_throughput": _each(output_throughput, rounds),
        "step_time_ms": _each(step_time_ms, rounds),
        "mean_ttft_ms": _each(lambda r: _mean(ttfts_ms([r])), rounds),
        "mean_tpot_ms": _each(lambda r: _mean(tpots_ms([r])), rounds),
        "speedup": paired_speedups(rounds, control_rounds),
    }
    return {name: values for name, values in samples.items() if values}


def higher_is_better(metric: str) -> bool:
    """Direction of a timed metric: of milliseconds, and of a stage's share, fewer are better."""
    return not metric.endswith(("_ms", "_share"))


def is_ratio(metric: str) -> bool:
    """Whether a timed metric is a ratio within one session: the machine's own speed cancels."""
    return metric in RELATIVE_TO_CONTROL or metric.endswith("_share")


def _each(
    metric: Callable[[RoundRecord], float | None], rounds: Iterable[RoundRecord]
) -> tuple[float, ...]:
    return tuple(value for record in rounds if (value := metric(record)) is not None)


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _spelled(request: RequestRecord) -> bytes:
    return ",".join(map(str, request.output_token_ids)).encode()
