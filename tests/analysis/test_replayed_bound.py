"""The lengths to replay, and the steps they come to, against a walk token by token."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftgate.analysis.replayed_bound import best_acceptance, decode_steps, replays
from draftgate.engine.records import RequestRecord, RoundRecord


def request(emitted, k: int = 3) -> RequestRecord:
    """A run that emitted so; the first step is the prefill's."""
    return RequestRecord(
        prompt_id="p",
        prompt_tokens=2,
        output_token_ids=tuple(range(sum(emitted))),
        finish_reason="stop",
        ttft_s=0.1,
        e2e_s=1.0,
        emitted=tuple(emitted),
        drafted=(k,) * (len(emitted) - 1),
        accepted=tuple(count - 1 for count in emitted[1:]),
    )


def a_round(*requests: RequestRecord) -> RoundRecord:
    return RoundRecord(batch_size=2, wall_s=1.0, steps=9, requests=requests)


def test_a_run_s_own_lengths_are_replayed_step_by_step():
    run = request((1, 4, 2, 1, 3))
    assert best_acceptance([run]) == (0, 3, 2, 1, 0, 1, 0, 0, 2, 1, 0)
    assert decode_steps(best_acceptance([run]), 11, k=3) == 4


def test_of_two_runs_the_longer_draft_is_taken():
    first, second = request((1, 4, 1, 1, 1)), request((1, 1, 1, 1, 4))
    best = best_acceptance([first, second])
    assert best == (0, 3, 2, 1, 3, 2, 1, 0)
    assert decode_steps(best, 8, k=3) == 2


def test_unlimited_drafts_leave_the_last_token_to_the_step_before():
    assert decode_steps(None, 9, k=3) == 2
    assert decode_steps(None, 10, k=3) == 3
    assert decode_steps(None, 1, k=3) == 0


emissions = st.lists(st.integers(1, 4), max_size=12).map(lambda rest: (1, *rest))


@given(emissions)
def test_an_oracle_takes_the_steps_of_the_run_it_replays(emitted):
    limits = best_acceptance([request(emitted)])
    assert decode_steps(limits, sum(emitted), k=3) == len(emitted) - 1


@given(emissions, st.integers(1, 5))
def test_a_longer_window_never_takes_more_steps(emitted, k):
    tokens = sum(emitted)
    assert decode_steps(None, tokens, k + 1) <= decode_steps(None, tokens, k) <= tokens - 1


def test_every_fixed_length_and_oracle_is_replayed():
    control = a_round(request((1,) * 8, 0), request((1,) * 3, 0))
    variants = {
        "a-k3": a_round(request((1, 4, 1, 1, 1)), request((1, 2))),
        "b-k2": a_round(request((1, 1, 1, 1, 3, 1), 2), request((1, 1, 1), 2)),
    }
    found = {replay.name: replay for replay in replays([[5, 6], [7]], control, variants, k=8)}
    assert list(found) == [
        "fixed-k2",
        "fixed-k3",
        "fixed-k8",
        "oracle-a-k3",
        "oracle-b-k2",
        "oracle-a-k3+b-k2",
    ]
    assert found["oracle-a-k3"].decode_steps == 4 + 1
    assert found["oracle-a-k3+b-k2"].decode_steps == 3 + 1
    assert found["fixed-k8"].decode_steps == 1 + 1
    plan = found["oracle-b-k2"].plan
    assert [r.prompt for r in plan.recordings] == [(5, 6), (7,)]
    assert plan.recordings[0].output == control.requests[0].output_token_ids
    assert found["fixed-k2"].plan.recordings[0].accepted is None


def test_copies_of_a_prompt_follow_one_another():
    control = a_round(*[request((1,) * 4, 0)] * 3)
    [fixed] = replays([[5, 6]], control, {}, k=3)
    assert [r.prompt for r in fixed.plan.recordings] == [(5, 6)] * 3


@pytest.mark.parametrize("prompts", [[], [[5], [6]]])
def test_prompts_and_requests_must_match(prompts):
    with pytest.raises(ValueError, match=f"{len(prompts)} prompts for 3 requests"):
        replays(prompts, a_round(*[request((1, 2))] * 3), {}, k=3)
