"""Hypothesis strategies for consistent rounds: requests are simulated step by step."""

from __future__ import annotations

from hypothesis import strategies as st

from draftgate.engine.records import RequestRecord, RoundRecord, SpecCounters


@st.composite
def requests(draw, k: int, index: int) -> RequestRecord:
    steps = draw(st.integers(0, 5))
    emitted, drafted, accepted = [1], [], []
    for _ in range(steps):
        offered = draw(st.integers(0, k))
        taken = draw(st.integers(0, offered))
        if offered:
            drafted.append(offered)
            accepted.append(taken)
        emitted.append(taken + 1)
    if steps:
        emitted[-1] -= draw(st.integers(0, emitted[-1] - 1))  # trimmed at EOS
    ttft = draw(st.floats(0.001, 0.5))
    prompt = draw(st.lists(st.integers(0, 9), max_size=9))  # empty: unknown
    return RequestRecord(
        prompt_id=f"p{index}",
        prompt_tokens=len(prompt) or draw(st.integers(1, 50)),
        prompt_token_ids=tuple(prompt),
        output_token_ids=tuple(draw(st.integers(0, 9)) for _ in range(sum(emitted))),
        finish_reason="stop",
        ttft_s=ttft,
        e2e_s=ttft + draw(st.floats(0.0, 0.5)),
        emitted=tuple(emitted),
        drafted=tuple(drafted),
        accepted=tuple(accepted),
    )


def counters_of(records, k: int) -> SpecCounters:
    accepted = [a for r in records for a in r.accepted]
    return SpecCounters(
        drafts=len(accepted),
        draft_tokens=sum(d for r in records for d in r.drafted),
        accepted_tokens=sum(accepted),
        per_position=tuple(sum(a > i for a in accepted) for i in range(k)),
    )


@st.composite
def rounds(draw, k: int, min_requests: int = 1) -> RoundRecord:
    count = draw(st.integers(min_requests, 4))
    records = tuple(draw(requests(k, i)) for i in range(count))
    return RoundRecord(
        batch_size=draw(st.integers(1, 4)),
        wall_s=draw(st.floats(1.0, 9.0)),
        steps=sum(len(r.emitted) for r in records),
        requests=records,
        counters=counters_of(records, k) if k else None,
    )


@st.composite
def rounds_and_k(draw, min_k: int = 0) -> tuple[RoundRecord, int]:
    k = draw(st.integers(min_k, 4))
    return draw(rounds(k)), k


def example_request(**changes) -> RequestRecord:
    """Three steps, two drafts of 3; the last step accepted 2 but was trimmed to 2 tokens."""
    fields = {
        "prompt_id": "p0",
        "prompt_tokens": 10,
        "output_token_ids": (1, 2, 3, 4, 5, 6),
        "finish_reason": "stop",
        "ttft_s": 0.1,
        "e2e_s": 0.6,
        "emitted": (1, 2, 1, 2),
        "drafted": (3, 3),
        "accepted": (1, 2),
    }
    return RequestRecord.model_validate({**fields, **changes})


def example_round(**changes) -> RoundRecord:
    """Two requests at k=3: 3 drafts, 9 drafted, 6 accepted, 10 tokens in 2 s."""
    second = example_request(
        prompt_id="p1",
        output_token_ids=(7, 8, 9, 9),
        emitted=(1, 3),
        drafted=(3,),
        accepted=(3,),
        ttft_s=0.2,
        e2e_s=0.5,
    )
    records = (example_request(), second)
    fields = {
        "batch_size": 2,
        "wall_s": 2.0,
        "steps": 4,
        "requests": records,
        "counters": counters_of(records, 3),
    }
    return RoundRecord.model_validate({**fields, **changes})


def example_control(**changes) -> RoundRecord:
    """The same outputs, one token a step, in 4 s."""
    records = tuple(
        r.model_copy(
            update={"emitted": (1,) * len(r.output_token_ids), "drafted": (), "accepted": ()}
        )
        for r in example_round().requests
    )
    fields = {"batch_size": 2, "wall_s": 4.0, "steps": 6, "requests": records, "counters": None}
    return RoundRecord.model_validate({**fields, **changes})
