"""Scripted drafts do what their plan says, followed by a greedy verifier written here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftgate.engine.drafts import DraftPlan, Recording, record_outputs, scripted_config
from draftgate.engine.proposers import ScriptedProposer
from draftgate.engine.records import RequestRecord, RoundRecord
from draftgate.engine.spec import EngineSpec, llm_arguments

VOCAB = 50
ids = st.integers(0, VOCAB - 1)
recordings = st.builds(
    Recording,
    prompt=st.lists(ids, min_size=1, max_size=6).map(tuple),
    output=st.lists(ids, min_size=1, max_size=20).map(tuple),
)


def proposer(plan: DraftPlan, k: int = 3) -> ScriptedProposer:
    made = ScriptedProposer(
        SimpleNamespace(
            speculative_config=SimpleNamespace(num_speculative_tokens=k),
            model_config=SimpleNamespace(get_vocab_size=lambda: VOCAB),
        )
    )
    made.follow(plan)
    return made


def windows(made: ScriptedProposer, texts: list[list[int]]) -> list[list[int]]:
    """What is drafted after each text, as rows of a batch with stale memory behind them."""
    table = np.full((len(texts), 64), 7, np.int32)
    for row, text in enumerate(texts):
        table[row, : len(text)] = text
    lengths = np.array([len(text) for text in texts], np.int32)
    return made.propose([[text[-1]] for text in texts], lengths, table)


def replay(made: ScriptedProposer, recording: Recording) -> tuple[list[int], list[list[int]]]:
    """Tokens a greedy verifier emits in each step, and the windows it was given."""
    output, present = recording.output, 1
    emitted, seen = [1], []
    while present < len(output):
        (window,) = windows(made, [[*recording.prompt, *output[:present]]])
        rest = output[present:]
        right = next((i for i, x in enumerate(window) if (*rest, -1)[i] != x), len(window))
        seen.append(window)
        emitted.append(min(right + 1, len(rest)))
        present += emitted[-1]
    return emitted, seen


@given(recordings, st.integers(1, 5))
def test_an_oracle_is_always_right_and_wastes_nothing(recording: Recording, k: int) -> None:
    emitted, seen = replay(
        proposer(DraftPlan(rule="oracle", recordings=(recording,)), k), recording
    )
    assert [len(window) + 1 for window in seen] == emitted[1:]
    assert all(count == k + 1 for count in emitted[1:-1])


@given(recordings, st.integers(1, 5))
def test_a_padded_oracle_always_fills_its_window(recording: Recording, k: int) -> None:
    plan = DraftPlan(rule="oracle", recordings=(recording,), padded=True)
    emitted, seen = replay(proposer(plan, k), recording)
    assert {len(window) for window in seen} <= {k}
    assert all(count == k + 1 for count in emitted[1:-1])


@given(recordings, st.integers(1, 5))
def test_an_adversary_gets_nothing_accepted(recording: Recording, k: int) -> None:
    plan = DraftPlan(rule="adversary", recordings=(recording,))
    emitted, seen = replay(proposer(plan, k), recording)
    assert set(emitted) == {1}
    assert {len(window) for window in seen} <= {k}


@given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.data())
def test_an_oracle_keeps_to_a_recorded_acceptance(steps: list[int], data: Any) -> None:
    """The round that was recorded is played again, step by step, padded or not."""
    emitted = [1, *steps]
    output = tuple(data.draw(st.lists(ids, min_size=sum(emitted), max_size=sum(emitted))))
    record = RoundRecord(
        batch_size=1,
        wall_s=1.0,
        steps=len(emitted),
        requests=(
            RequestRecord(
                prompt_id="p",
                prompt_tokens=2,
                output_token_ids=output,
                finish_reason="length",
                ttft_s=0.0,
                e2e_s=1.0,
                emitted=tuple(emitted),
            ),
        ),
    )
    (recording,) = record_outputs([[1, 2]], record, accepted=True)
    for padded in (False, True):
        plan = DraftPlan(rule="oracle", recordings=(recording,), padded=padded)
        assert replay(proposer(plan), recording)[0] == emitted


def test_ragged_windows_differ_between_requests_and_steps() -> None:
    rng = np.random.default_rng(0)
    texts = [tuple(map(int, rng.integers(0, VOCAB, 40))) for _ in range(8)]
    made = proposer(
        DraftPlan(
            rule="ragged",
            recordings=tuple(Recording(prompt=text[:5], output=text[5:]) for text in texts),
        )
    )
    lengths = [
        [len(window) for window in windows(made, [list(text[:n]) for text in texts])]
        for n in range(6, 30)
    ]
    assert {length for row in lengths for length in row} == {0, 1, 2, 3}
    assert all(len(set(row)) > 1 for row in lengths)
    assert all(len(set(column)) > 1 for column in zip(*lengths, strict=True))


@given(st.lists(ids, min_size=1, max_size=9), st.sampled_from(["adversary", "ragged"]))
def test_unknown_texts_get_drafts_of_their_own_tokens(text: list[int], rule: Any) -> None:
    (window,) = windows(proposer(DraftPlan(rule=rule)), [text])
    assert set(window) <= set(text)


def test_an_oracle_drafts_nothing_for_a_text_it_does_not_know() -> None:
    recording = Recording(prompt=(1, 2), output=(3, 4, 5, 6))
    made = proposer(DraftPlan(rule="oracle", recordings=(recording,)))
    texts = [[1, 2, 3], [1, 2, 9], [1, 2, 3, 4, 5, 6, 7]]
    assert windows(made, texts) == [[4, 5], [], []]


def test_rows_may_change_their_request() -> None:
    first, other = (Recording(prompt=(prompt,), output=tuple(range(10, 20))) for prompt in (1, 2))
    made = proposer(DraftPlan(rule="oracle", recordings=(first, other)))
    for prompts in ([1, 2], [2, 1], [1, 1]):
        assert windows(made, [[prompt, 10] for prompt in prompts]) == [[11, 12, 13]] * 2


def test_a_row_in_the_middle_of_its_prompt_gets_nothing() -> None:
    made = proposer(DraftPlan(rule="ragged"))
    assert made.propose([[]], np.array([3]), np.array([[1, 2, 3]])) == [[]]


def test_without_a_plan_nothing_is_drafted() -> None:
    made = proposer(DraftPlan(rule="empty"))
    assert windows(made, [[1, 2], [3]]) == [[], []]


def test_a_plan_may_ask_for_less_than_the_engine_could() -> None:
    recording = Recording(prompt=(1,), output=tuple(range(2, 30)))
    made = proposer(DraftPlan(rule="oracle", recordings=(recording,), length=2), k=5)
    assert windows(made, [[1, 2]]) == [[3, 4]]


def test_only_scripted_engines_get_the_worker_extension() -> None:
    def arguments(config: dict[str, Any]) -> dict[str, Any]:
        spec = EngineSpec(model="m", speculative_config=config)
        assert spec.draft_model is None
        return llm_arguments(spec, on_cpu=True, request_metrics=True)

    assert "worker_extension_cls" in arguments(scripted_config(3))
    assert "worker_extension_cls" not in arguments({"method": "ngram"})


def test_recordings_need_a_round_over_the_same_prompts() -> None:
    record = RoundRecord(batch_size=1, wall_s=1.0, steps=0, requests=())
    with pytest.raises(ValueError, match="1 prompts for a round of 0 requests"):
        record_outputs([[1]], record)
