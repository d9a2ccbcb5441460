"""What a step computes, read from vLLM's `SchedulerOutput`."""

from __future__ import annotations

from typing import Any

from draftgate.engine.stages.timeline import StepLoad


def load_of(scheduled: Any) -> StepLoad:
    """Counts of one `SchedulerOutput`.

    A request decodes where it computes one token beside its drafts; everything else reads a
    prompt (the last token of a prompt read in chunks may look like decoding).
    """
    drafts = scheduled.scheduled_spec_decode_tokens
    tokens = scheduled.num_scheduled_tokens
    fresh = {request.req_id for request in scheduled.scheduled_new_reqs}
    prefill = sum(
        count
        for request, count in tokens.items()
        if request in fresh or count > 1 + len(drafts.get(request, ()))
    )
    cached = sum(scheduled.scheduled_cached_reqs.num_computed_tokens) + sum(
        request.num_computed_tokens for request in scheduled.scheduled_new_reqs
    )
    return StepLoad(
        requests=len(tokens),
        batched_tokens=scheduled.total_num_scheduled_tokens,
        prefill_tokens=prefill,
        kv_tokens=cached,
        drafted_tokens=sum(map(len, drafts.values())),
    )
