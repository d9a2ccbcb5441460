"""The host with real vLLM children on a tiny random model."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from random_model import write_checkpoint

from draftgate.analysis.memory import kv_bytes_per_token
from draftgate.engine import (
    EngineError,
    EngineHost,
    EngineSpec,
    RoundPrompt,
    RoundRecord,
    RoundRequest,
    start_many,
)

pytestmark = pytest.mark.slow

K = 3
MAX_MODEL_LEN = 128
NGRAM = {
    "method": "ngram",
    "num_speculative_tokens": K,
    "prompt_lookup_min": 1,
    "prompt_lookup_max": 3,
}
PROMPTS = tuple(
    RoundPrompt(
        prompt_id=f"p{index}",
        text=" ".join(f"w{(index * 37 + word * 11) % 300}" for word in range(3 + index)),
    )
    for index in range(10)
)
MIXED = RoundRequest(prompts=PROMPTS, batch_size=4, max_tokens=60)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkpoint(tmp_path_factory.mktemp("models") / "target")


@pytest.fixture(scope="module")
def make_host(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., EngineHost]:
    log_dir = tmp_path_factory.mktemp("logs")

    def make(label: str, **changes: object) -> EngineHost:
        fields: dict[str, object] = {
            "model": str(model),
            "dtype": "float32",
            "max_model_len": MAX_MODEL_LEN,
            "max_num_seqs": 4,
            "kv_cache_gib": 0.05,
        }
        spec = EngineSpec.model_validate(fields | changes)
        return EngineHost(spec, label=label, log_dir=log_dir)

    return make


@pytest.fixture(scope="module")
def arms(make_host: Callable[..., EngineHost]) -> Iterator[tuple[EngineHost, EngineHost]]:
    """The control and the n-gram arm, resident together."""
    hosts = (make_host("tiny/none"), make_host("tiny/ngram-k3", speculative_config=NGRAM))
    started = start_many(hosts)
    assert not started.failed, "\n".join(map(str, started.failed.values()))
    yield hosts
    started.close()


@pytest.fixture(scope="module")
def rounds(arms: tuple[EngineHost, EngineHost]) -> tuple[RoundRecord, RoundRecord]:
    control, ngram = arms
    return control.generate(MIXED), ngram.generate(MIXED)


def outputs(record: RoundRecord) -> list[tuple[int, ...]]:
    return [request.output_token_ids for request in record.requests]


def test_speculative_output_equals_the_control(rounds: tuple[RoundRecord, RoundRecord]) -> None:
    control, ngram = rounds
    assert outputs(ngram) == outputs(control)
    assert [request.prompt_id for request in ngram.requests] == [p.prompt_id for p in PROMPTS]
    assert ngram.steps < control.steps


def test_emitted_tokens_add_up(rounds: tuple[RoundRecord, RoundRecord]) -> None:
    for record in rounds:
        for request in record.requests:
            assert sum(request.emitted) == len(request.output_token_ids) > 0
            assert 0 < request.ttft_s <= request.e2e_s <= record.wall_s
            assert request.finish_reason in ("stop", "length")
            assert max(request.emitted) <= K + 1
    assert all(set(request.emitted) == {1} for request in rounds[0].requests)


def test_counters_are_the_sums_over_requests(rounds: tuple[RoundRecord, RoundRecord]) -> None:
    control, ngram = rounds
    assert control.counters is None
    assert all(not request.drafted for request in control.requests)
    counters = ngram.counters
    assert counters is not None
    accepted = [count for request in ngram.requests for count in request.accepted]
    drafted = [count for request in ngram.requests for count in request.drafted]
    assert counters.drafts == len(drafted) > 0
    assert counters.draft_tokens == sum(drafted)
    assert counters.accepted_tokens == sum(accepted) > 0
    assert counters.per_position == tuple(
        sum(count > position for count in accepted) for position in range(K)
    )


def test_the_chat_template_counts_as_prompt(rounds: tuple[RoundRecord, RoundRecord]) -> None:
    for request, prompt in zip(rounds[0].requests, PROMPTS, strict=True):
        assert request.prompt_tokens == len(prompt.text.split()) + 2  # <user> and <assistant>
        assert len(request.prompt_token_ids) == request.prompt_tokens


def test_rounds_repeat_exactly(
    arms: tuple[EngineHost, EngineHost], rounds: tuple[RoundRecord, RoundRecord]
) -> None:
    for host, earlier in zip(arms, rounds, strict=True):
        again = host.generate(MIXED)
        assert outputs(again) == outputs(earlier)
        assert (again.steps, again.counters) == (earlier.steps, earlier.counters)


def test_replicated_runs_copies_side_by_side(arms: tuple[EngineHost, EngineHost]) -> None:
    request = MIXED.model_copy(update={"prompts": PROMPTS[:2], "batch_mode": "replicated"})
    record = arms[0].generate(request)
    assert [r.prompt_id for r in record.requests] == ["p0"] * 4 + ["p1"] * 4
    assert [bool(r.prompt_token_ids) for r in record.requests] == [True, False, False, False] * 2
    assert len(set(outputs(record))) == 2
    assert record.steps == sum(len(outputs(record)[index]) for index in (0, 4))


def test_sampling_follows_its_seed(arms: tuple[EngineHost, EngineHost]) -> None:
    hot = MIXED.model_copy(update={"temperature": 1.0})
    first, second = arms[0].generate(hot), arms[0].generate(hot)
    other = arms[0].generate(hot.model_copy(update={"seed": 7}))
    assert outputs(first) == outputs(second) != outputs(other)


@pytest.mark.parametrize("index", [0, 1])
def test_a_staged_round_is_the_same_round_with_every_step_seen(
    arms: tuple[EngineHost, EngineHost], rounds: tuple[RoundRecord, RoundRecord], index: int
) -> None:
    staged = arms[index].generate(MIXED.model_copy(update={"stages": True}))
    assert outputs(staged) == outputs(rounds[index])
    steps = staged.stages
    assert steps is not None
    assert steps.clock == "host"
    assert len(steps.step_ms) == staged.steps
    assert sum(steps.prefill_tokens) == sum(r.prompt_tokens for r in staged.requests)
    assert max(steps.requests) == MIXED.batch_size
    drafted = staged.counters.draft_tokens if staged.counters else 0
    assert sum(steps.drafted_tokens) == drafted
    assert (sum(steps.draft_ms) > 0) == (index == 1)
    assert {"forward", "logits", "sample", "schedule", "update"} <= steps.scopes_ms.keys()
    assert arms[index].generate(MIXED).stages is None


def test_the_cache_is_what_the_config_says(
    arms: tuple[EngineHost, EngineHost], model: Path
) -> None:
    config = json.loads((model / "config.json").read_text())
    for host in arms:
        memory = host.info.memory
        assert memory.kv_bytes_per_token == kv_bytes_per_token(config, memory.kv_cache_dtype)
        assert memory.kv_blocks * memory.block_size >= MAX_MODEL_LEN


def test_info(arms: tuple[EngineHost, EngineHost]) -> None:
    control, ngram = (host.info for host in arms)
    assert (control.k, ngram.k) == (0, K)
    assert control.max_model_len == MAX_MODEL_LEN
    assert control.dtype == "float32"
    # A library in one arm alone must not change the threads (numba did, in the n-gram proposer).
    assert control.threads == ngram.threads == len(control.cores) == len(ngram.cores)
    assert control.has_chat_template
    assert control.isa_class == ngram.isa_class
    if control.isa_class.startswith("x86"):
        assert control.kernels == "avx2"


def test_a_prompt_too_long_is_named_and_the_engine_goes_on(
    arms: tuple[EngineHost, EngineHost],
) -> None:
    long = RoundPrompt(prompt_id="novel", text="w1 " * 200)
    with pytest.raises(EngineError, match=r"'novel' has 202 tokens .* max_model_len is 128"):
        arms[0].generate(MIXED.model_copy(update={"prompts": (*PROMPTS, long)}))
    assert arms[0].generate(MIXED).steps > 0


def _generate_for(seconds: float, host: EngineHost) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        host.generate(MIXED)


def test_sigkill_mid_round_gives_the_log_and_leaves_no_process(
    make_host: Callable[..., EngineHost], is_gone: Callable[[int], bool]
) -> None:
    with make_host("tiny/killed") as host:
        family = [host.pid, *(p.pid for p in psutil.Process(host.pid).children(recursive=True))]
        threading.Timer(0.5, os.kill, (host.pid, signal.SIGKILL)).start()
        with pytest.raises(EngineError, match="killed by SIGKILL") as caught:
            _generate_for(20, host)
    assert "INFO" in caught.value.log_tail
    assert all(is_gone(pid) for pid in family)


def test_a_wrong_checkpoint_fails_with_vllm_s_own_reason(
    make_host: Callable[..., EngineHost],
) -> None:
    with (
        pytest.raises(EngineError, match=r"start-up: .*max_model_len"),
        make_host("tiny/too-long", max_model_len=100_000),
    ):
        pass
