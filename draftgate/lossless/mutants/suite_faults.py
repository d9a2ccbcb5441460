"""Faults of whole engines that one module of correctness_tests sees and no other does.

They are planted in the suite's own engines (`hook.planted`), those that speculate; standard
decoding stays sound. The workbench of `engine_trial` sees less than the suite: one round, greedy.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from draftgate.lossless.mutants.edits import edited, wrapped
from draftgate.lossless.mutants.engine_faults import (
    BONUS_COUNTED_AS_ACCEPTED,
    DRAFTS_COUNTED_TWICE,
    HEAD,
    SCHEDULER,
)
from draftgate.lossless.mutants.mutant import ENGINES, Mutant

_SCHEDULING = SCHEDULER.partition(":")[0]

_suite = partial(Mutant, where=ENGINES)
_lossy = partial(_suite, expected_channel="losslessness")


def _token_zero(propose: Any) -> Any:
    """Where drafts are drawn, other ones than the proposal's would change the text."""

    def call(proposer: Any, *arguments: Any, **options: Any) -> Any:
        drafts = propose(proposer, *arguments, **options)
        return drafts.zero_() if proposer.take_last_draft_probs() is None else drafts

    return call


def _colder(verify: Any) -> Any:
    def call(sampler: Any, window: Any, draft_probs: Any, logits: Any, sampling: Any) -> Any:
        if sampling.temperature is not None:
            sampling = replace(sampling, temperature=0.8 * sampling.temperature)
        return verify(sampler, window, draft_probs, logits, sampling)

    return call


def _rolled(proposal: Any) -> Any:
    def call(*arguments: Any) -> Any:
        rows = proposal(*arguments)
        return rows if rows is None else rows.roll(1, 0)

    return call


MUTANTS = (
    _suite(
        "suite-head-drafts-one-token",
        "drafter",
        expected_channel="acceptance",
        apply=wrapped(HEAD, _token_zero),
        tests=("test_engine_greedy.py",),
        sole=True,
    ),
    _lossy(
        "suite-windows-are-colder",
        "sampling parameters",
        apply=wrapped("vllm.v1.sample.rejection_sampler:RejectionSampler.forward", _colder),
        tests=("test_engine_sampled.py",),
        sole=True,
    ),
    _lossy(
        "suite-proposal-of-the-neighbour",
        "rows",
        apply=wrapped(
            "vllm.v1.worker.gpu_model_runner:GPUModelRunner._get_spec_decode_draft_probs", _rolled
        ),
        tests=("test_engine_sampled.py",),
    ),
    _lossy(
        "suite-proposal-of-who-had-the-row",
        "rows",
        apply=edited(
            "vllm.v1.worker.gpu_model_runner:GPUModelRunner._get_spec_decode_draft_probs",
            (
                "row_idx = row_by_req_id.get(req_id)",
                "row_idx = self.input_batch.req_ids.index(req_id)",
            ),
        ),
        tests=("test_engine_sampled.py",),
    ),
    _lossy(
        "suite-stop-tokens-do-not-stop",
        "scheduler",
        apply=edited(
            f"{_SCHEDULING}:check_stop",
            ("if last_token_id in (sampling_params.stop_token_ids or ()):", "if False:"),
        ),
        tests=("test_engine_features.py",),
        sole=True,
    ),
    _lossy(
        "suite-preempted-requests-stay-computed",
        "scheduler",
        apply=edited(
            f"{SCHEDULER}._preempt_request",
            ("request.num_computed_tokens = 0", "request.num_computed_tokens //= 2"),
        ),
        tests=("test_engine_stress.py",),
        sole=True,
    ),
    _lossy(
        "suite-thinking-ends-a-token-late",
        "sampling parameters",
        apply=edited(
            "vllm.v1.sample.thinking_budget_state:ThinkingBudgetStateHolder._update_think_state",
            (
                "and total_thinking_tokens > state[",
                "and total_thinking_tokens > 1 + state[",
            ),
        ),
        tests=("test_engine_features.py",),
    ),
    _lossy(
        "suite-grammar-waits-for-the-next-window",
        "sampling parameters",
        apply=edited(
            "vllm.v1.structured_output:StructuredOutputManager._get_constraint_bounds",
            (
                "return ConstraintBounds(i + 1, i + 1)",
                "return ConstraintBounds(num_spec_tokens + 1, num_spec_tokens + 1)",
            ),
        ),
        tests=("test_engine_features.py",),
        source="vllm#36138",
    ),
    _lossy(
        "suite-raw-logprobs-are-processed",
        "log-probabilities",
        apply=edited(
            "vllm.v1.sample.rejection_sampler:RejectionSampler.forward",
            ("if not self.is_processed_logprobs_mode:", "if False:"),
        ),
        tests=("test_engine_logprobs.py",),
        sole=True,
    ),
    _suite(
        "suite-drafts-counted-twice",
        "counters",
        expected_channel="metric",
        apply=DRAFTS_COUNTED_TWICE,
        tests=("test_engine_accounting.py",),
        sole=True,
    ),
    _suite(
        "suite-bonus-counted-as-accepted",
        "counters",
        expected_channel="metric",
        apply=BONUS_COUNTED_AS_ACCEPTED,
        tests=("test_engine_accounting.py",),
        source="vllm#39359",
    ),
    _lossy(
        "suite-v2-rejected-drafts-stay-computed",
        "rows",
        apply=edited(
            "vllm.v1.worker.gpu.input_batch:_post_update_kernel",
            ("computed_delta = query_len - num_rejected", "computed_delta = query_len"),
        ),
        tests=("test_v2_runner.py",),
        sole=True,
    ),
)
