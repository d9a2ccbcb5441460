"""Faults of the engine around the sampler: scheduler, drafter, counters, and plain slowness.

The variant after ``engine/`` is the one whose engine shows the fault.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from draftgate.lossless.mutants.edits import edited, wrapped
from draftgate.lossless.mutants.mutant import Mutant

SCHEDULER = "vllm.v1.core.sched.scheduler:Scheduler"
_RUNNER = "vllm.v1.worker.gpu_model_runner:GPUModelRunner"
_WINDOW = f"{_RUNNER}._calc_spec_decode_metadata"
_NGRAM = "vllm.v1.spec_decode.ngram_proposer:NgramProposer.propose"
HEAD = "vllm.v1.spec_decode.llm_base_proposer:SpecDecodeBaseProposer.propose"
_COUNTERS = "vllm.v1.spec_decode.metrics:SpecDecodingStats.observe_draft"

BONUS_COUNTED_AS_ACCEPTED = edited(
    _COUNTERS,
    (
        "self.num_accepted_tokens += num_accepted_tokens",
        "self.num_accepted_tokens += num_accepted_tokens + 1",
    ),
)
DRAFTS_COUNTED_TWICE = edited(_COUNTERS, ("self.num_drafts += 1", "self.num_drafts += 2"))

_ngram = partial(Mutant, where="engine/ngram-k3")
_eagle3 = partial(Mutant, where="engine/eagle3-k3")
_lossy = partial(_ngram, expected_channel="losslessness")
_counter = partial(_ngram, kind="counters", expected_channel="metric")

Call = Callable[..., Any]


def _before(action: Callable[[], None]) -> Callable[[Call], Call]:
    def wrap(installed: Call) -> Call:
        def call(*arguments: Any, **options: Any) -> Any:
            action()
            return installed(*arguments, **options)

        return call

    return wrap


def _again(times: int) -> Callable[[Call], Call]:
    """Repeats a call that has no other effect than its result."""

    def wrap(installed: Call) -> Call:
        def call(*arguments: Any, **options: Any) -> Any:
            for _ in range(times - 1):
                installed(*arguments, **options)
            return installed(*arguments, **options)

        return call

    return wrap


def _drafts(change: Callable[[list[int]], list[int]]) -> Callable[[Call], Call]:
    """Changes each request's drafts."""

    def wrap(installed: Call) -> Call:
        def call(*arguments: Any, **options: Any) -> Any:
            return [change(list(drafts)) for drafts in installed(*arguments, **options)]

        return call

    return wrap


def _rolled(name: str) -> Callable[[Call], Call]:
    """Gives the drafter another row for each row of the tensor ``name``."""

    def wrap(installed: Call) -> Call:
        def call(*arguments: Any, **options: Any) -> Any:
            options[name] = options[name].roll(1, 0)
            return installed(*arguments, **options)

        return call

    return wrap


def _next_layer(installed: Call) -> Call:
    def set_layers(model: Any, layers: tuple[int, ...]) -> None:
        installed(model, tuple(layer + 1 for layer in layers))

    return set_layers


MUTANTS = (
    _lossy(
        "engine-rejected-drafts-stay-computed",
        "scheduler",
        apply=edited(
            f"{SCHEDULER}.update_from_output",
            ("request.num_computed_tokens -= num_rejected", "pass"),
        ),
        source="KV after rejections",
    ),
    _lossy(
        "engine-one-rejected-draft-stays-computed",
        "scheduler",
        apply=edited(
            f"{SCHEDULER}.update_from_output",
            (
                "request.num_computed_tokens -= num_rejected",
                "request.num_computed_tokens -= max(num_rejected - 1, 0)",
            ),
        ),
    ),
    _lossy(
        "engine-tokens-after-the-end-stay",
        "scheduler",
        apply=edited(
            f"{SCHEDULER}._update_request_with_output", ("del new_token_ids[num_new:]", "pass")
        ),
        source="vllm#47616",
    ),
    _lossy(
        "engine-bonus-row-before",
        "bonus token",
        apply=edited(
            _WINDOW,
            (
                "bonus_logits_indices = cu_num_sampled_tokens - 1",
                "bonus_logits_indices = cu_num_sampled_tokens - 1 - (num_draft_tokens > 0)",
            ),
        ),
    ),
    _ngram(
        "engine-verifies-the-token-before",
        "rows",
        # What is emitted is the target's choice all the same; text differs only where the target
        # repeats a token that was not drafted.
        expected_channel="acceptance",
        apply=edited(
            _WINDOW,
            (
                "draft_token_ids = draft_token_ids[target_logits_indices + 1]",
                "draft_token_ids = draft_token_ids[target_logits_indices]",
            ),
        ),
    ),
    _lossy(
        "engine-target-rows-one-late",
        "rows",
        apply=edited(
            _WINDOW,
            (
                "target_logits_indices=target_logits_indices,",
                "target_logits_indices=target_logits_indices + 1,",
            ),
        ),
    ),
    _ngram(
        "engine-drafter-knows-one-token",
        "drafter",
        expected_channel="acceptance",
        apply=wrapped(_NGRAM, _drafts(lambda drafts: [0] * len(drafts))),
        source="vllm#45669",
    ),
    _ngram(
        "engine-last-draft-lost",
        "drafter",
        expected_channel="acceptance",
        apply=wrapped(_NGRAM, _drafts(lambda drafts: drafts[:-1])),
    ),
    _eagle3(
        "engine-eagle3-next-layers",
        "drafter",
        expected_channel="acceptance",
        apply=wrapped(
            "vllm.model_executor.models.interfaces:SupportsEagle3.set_aux_hidden_state_layers",
            _next_layer,
        ),
        source="head semantics",
    ),
    _eagle3(
        "engine-head-sees-the-row-before",
        "drafter",
        expected_channel="acceptance",
        apply=wrapped(HEAD, _rolled("target_hidden_states")),
        source="vllm#14649",
    ),
    _eagle3(
        "engine-head-3-ms-slower",
        "speed",
        expected_channel="time",
        apply=wrapped(HEAD, _before(partial(time.sleep, 0.003))),
    ),
    _counter(
        "engine-per-position-shifted",
        apply=edited(
            _COUNTERS,
            (
                "self.num_accepted_tokens_per_pos[i] += 1",
                "self.num_accepted_tokens_per_pos[(i + 1) % self.num_spec_tokens] += 1",
            ),
        ),
    ),
    _counter(
        "engine-drafts-counted-twice",
        apply=DRAFTS_COUNTED_TWICE,
    ),
    _counter(
        "engine-bonus-counted-as-accepted",
        apply=BONUS_COUNTED_AS_ACCEPTED,
        source="vllm#39359",
    ),
    _counter(
        "engine-request-metrics-lose-rejections",
        apply=edited(
            f"{SCHEDULER}.update_from_output",
            (
                "if request.spec_decode_metrics is not None:",
                "if request.spec_decode_metrics is not None and num_accepted:",
            ),
        ),
    ),
    _ngram(
        "engine-step-5-ms-slower",
        "speed",
        expected_channel="time",
        apply=wrapped(f"{SCHEDULER}.schedule", _before(partial(time.sleep, 0.005))),
    ),
    _ngram(
        "engine-searches-a-hundred-times",
        "speed",
        expected_channel="time",
        apply=wrapped(_NGRAM, _again(100)),
        source="vllm#56732, vllm#16883",
    ),
    _ngram(
        "control-engine-drafts-copied",
        "control",
        expected_channel=None,
        apply=wrapped(_NGRAM, _drafts(lambda drafts: drafts)),
    ),
    _eagle3(
        "control-engine-head-wrapped",
        "control",
        expected_channel=None,
        apply=wrapped(HEAD, _before(lambda: None)),
    ),
)
