"""The keys that `vllm bench serve --save-result` writes (vLLM 0.32), in its units."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from draftgate.engine.records import Record, RoundRecord
from draftgate.measure import metrics


class BenchKeys(Record):
    """Totals over all timed rounds.

    Seconds: ``duration``, ``ttfts``, ``latencies``; milliseconds: ``*_ms``; percent:
    ``spec_decode_acceptance_rate``. A ``tpot`` key is None where no request had two tokens, a
    ``spec_decode`` key where nothing was drafted; both are absent from the file.
    """

    date: str
    backend: str = "draftgate"
    model_id: str
    num_prompts: int
    max_concurrency: int
    duration: float
    completed: int
    failed: int
    total_input_tokens: int
    total_output_tokens: int
    request_throughput: float
    output_throughput: float
    total_token_throughput: float
    input_lens: tuple[int, ...]
    output_lens: tuple[int, ...]
    ttfts: tuple[float, ...]
    latencies: tuple[float, ...]
    mean_ttft_ms: float
    median_ttft_ms: float
    std_ttft_ms: float
    p99_ttft_ms: float
    mean_tpot_ms: float | None = None
    median_tpot_ms: float | None = None
    std_tpot_ms: float | None = None
    p99_tpot_ms: float | None = None
    mean_e2el_ms: float
    median_e2el_ms: float
    std_e2el_ms: float
    p99_e2el_ms: float
    spec_decode_acceptance_rate: float | None = None
    spec_decode_acceptance_length: float | None = None
    spec_decode_num_drafts: int | None = None
    spec_decode_draft_tokens: int | None = None
    spec_decode_accepted_tokens: int | None = None
    spec_decode_per_position_acceptance_rates: tuple[float, ...] | None = None


def bench_keys(
    rounds: Sequence[RoundRecord], k: int, *, model_id: str, started: datetime
) -> dict[str, Any]:
    """`BenchKeys` fields of a cell's timed rounds, at least one round with a request."""
    requests = [request for record in rounds for request in record.requests]
    duration = sum(record.wall_s for record in rounds)
    finished = sum(request.finish_reason is not None for request in requests)
    input_lens = [request.prompt_tokens for request in requests]
    output_lens = [len(request.output_token_ids) for request in requests]
    return {
        "date": started.strftime("%Y%m%d-%H%M%S"),
        "model_id": model_id,
        "num_prompts": len(requests),
        "max_concurrency": rounds[0].batch_size,
        "duration": duration,
        "completed": finished,
        "failed": len(requests) - finished,
        "total_input_tokens": sum(input_lens),
        "total_output_tokens": sum(output_lens),
        "request_throughput": finished / duration,
        "output_throughput": sum(output_lens) / duration,
        "total_token_throughput": (sum(input_lens) + sum(output_lens)) / duration,
        "input_lens": input_lens,
        "output_lens": output_lens,
        "ttfts": [request.ttft_s for request in requests],
        "latencies": [request.e2e_s for request in requests],
        **metrics.summary_ms("ttft", metrics.ttfts_ms(rounds)),
        **metrics.summary_ms("tpot", metrics.tpots_ms(rounds)),
        **metrics.summary_ms("e2el", metrics.e2els_ms(rounds)),
        **_spec_decode_keys(rounds, k),
    }


def _spec_decode_keys(rounds: Sequence[RoundRecord], k: int) -> dict[str, Any]:
    counters = [record.counters for record in rounds if record.counters is not None]
    drafts = sum(c.drafts for c in counters)
    draft_tokens = sum(c.draft_tokens for c in counters)
    accepted = sum(c.accepted_tokens for c in counters)
    if not drafts or not draft_tokens:  # vLLM writes none of the keys then
        return {}
    per_position = [
        sum(sum(c.per_position[i : i + 1]) for c in counters) / drafts for i in range(k)
    ]
    return {
        "spec_decode_acceptance_rate": 100 * accepted / draft_tokens,
        "spec_decode_acceptance_length": 1 + accepted / drafts,
        "spec_decode_num_drafts": drafts,
        "spec_decode_draft_tokens": draft_tokens,
        "spec_decode_accepted_tokens": accepted,
        "spec_decode_per_position_acceptance_rates": per_position,
    }
