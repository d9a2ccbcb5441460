"""A staged round by hand: one step that reads prompts, one that does both, four that decode."""

from __future__ import annotations

from round_strategies import example_round

from draftgate.engine.records import EngineMemory, RoundRecord, StageSteps

MEMORY = EngineMemory(
    kv_cache_bytes=268_435_456,
    kv_blocks=1024,
    block_size=32,
    kv_cache_dtype="float32",
    weight_bytes=18_874_368,
    rss_bytes=900_000_000,
)


def example_steps(**changes) -> StageSteps:
    fields = {
        "clock": "host",
        "requests": (1, 2, 2, 2, 2, 1),
        "batched_tokens": (10, 14, 8, 8, 8, 4),
        "prefill_tokens": (10, 10, 0, 0, 0, 0),
        "kv_tokens": (0, 10, 23, 27, 31, 17),
        "drafted_tokens": (0, 3, 6, 6, 6, 3),
        "step_ms": (8.0, 9.0, 5.0, 5.0, 5.0, 4.0),
        "draft_ms": (1.0, 1.5, 1.0, 1.25, 1.0, 0.75),
        "verify_ms": (5.0, 5.5, 2.5, 2.5, 2.75, 2.25),
        "sample_ms": (0.25, 0.25, 0.25, 0.25, 0.25, 0.25),
        "overhead_ms": (1.75, 1.75, 1.25, 1.0, 1.0, 0.75),
        "scopes_ms": {
            "draft": 6.5,
            "forward": 18.5,
            "logits": 2.0,
            "sample": 1.5,
            "prepare": 4.5,
            "bookkeep": 3.0,
            "unattributed": 0.0,
        },
    }
    return StageSteps.model_validate({**fields, **changes})


def example_staged_round(**changes) -> RoundRecord:
    fields = {"wall_s": 0.036, "stages": example_steps()}
    requests = [
        r.model_copy(update={"ttft_s": 0.01, "e2e_s": 0.03}) for r in example_round().requests
    ]
    return example_round(**{**fields, "requests": requests, **changes})
