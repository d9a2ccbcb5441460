"""Faults of the V1 runner's Triton kernels."""

from __future__ import annotations

from functools import partial

from draftgate.lossless.mutants.edits import edited
from draftgate.lossless.mutants.mutant import Mutant

_HOME = "vllm.v1.sample.rejection_sampler"
_GREEDY = f"{_HOME}:rejection_greedy_sample_kernel"
_RANDOM = f"{_HOME}:rejection_random_sample_kernel"
_RECOVER = f"{_HOME}:sample_recovered_tokens_kernel"

_lossy = partial(
    Mutant,
    where="v1-interpreted",
    expected_channel="losslessness",
    tests=("test_verification.py",),
)

MUTANTS = (
    _lossy(
        "v1-kernel-accepts-placeholders",
        "placeholders",
        apply=edited(_RANDOM, ("if draft_token_id < 0:", "if draft_token_id < -1:")),
        tests=("test_placeholders.py",),
        source="vllm#46533, vllm#50939",
    ),
    _lossy(
        "v1-kernel-recovers-within-the-block",
        "residual",
        apply=edited(_RECOVER, ("recovered_id = v + local_id", "recovered_id = local_id")),
        tests=("test_wide_vocabulary.py",),
        sole=True,
    ),
    _lossy(
        "v1-kernel-squares-the-uniform",
        "acceptance test",
        apply=edited(_RANDOM, (">= uniform_prob\n", ">= uniform_prob * uniform_prob\n")),
    ),
    _lossy(
        # The law is kept; but other kernels accept other drafts of the same seed.
        "v1-kernel-mirrors-the-uniform",
        "random numbers",
        apply=edited(_RANDOM, (">= uniform_prob\n", ">= 1 - uniform_prob\n")),
        sole=True,
    ),
    _lossy(
        "v1-kernel-reads-the-first-proposal-row",
        "rows",
        apply=edited(
            _RANDOM,
            (
                "draft_probs_ptr\n                        + (start_idx + pos) * vocab_size",
                "draft_probs_ptr\n                        + start_idx * vocab_size",
            ),
        ),
        quick=True,
    ),
    _lossy(
        "v1-kernel-goes-on-after-a-rejection",
        "acceptance test",
        apply=edited(
            _RANDOM, ("                rejected = True\n", "                rejected = pos > 0\n")
        ),
    ),
    _lossy(
        "v1-kernel-always-adds-the-bonus",
        "bonus token",
        apply=edited(
            _RANDOM, ("    if not rejected:\n        # If all", "    if True:\n        # If all")
        ),
    ),
    _lossy(
        "v1-kernel-greedy-accepts-all",
        "greedy",
        apply=edited(
            _GREEDY, ("rejected = draft_token_id != target_argmax_id", "rejected = False")
        ),
    ),
    _lossy(
        "v1-kernel-recovers-the-draft",
        "residual",
        apply=edited(_RECOVER, ("(vocab_mask & (vocab_offset != draft_token_id))", "vocab_mask")),
    ),
    _lossy(
        "v1-kernel-residual-unclipped",
        "residual",
        apply=edited(
            _RECOVER,
            ("tl.maximum(target_prob - draft_prob, 0.0)", "tl.abs(target_prob - draft_prob)"),
        ),
    ),
    _lossy(
        "v1-kernel-noise-of-the-first-request",
        "random numbers",
        apply=edited(_RECOVER, ("inv_q_ptr + req_idx * vocab_size", "inv_q_ptr + 0 * vocab_size")),
    ),
    _lossy(
        "v1-kernel-recovers-an-id-past-the-vocabulary",
        "residual",
        apply=edited(
            _RECOVER,
            (
                'score = tl.where(vocab_mask, score, float("-inf"))',
                "score = tl.where(vocab_mask, score, 0.5)",
            ),
            (
                "recovered_id = tl.minimum(recovered_id, vocab_size - 1)",
                "recovered_id = recovered_id",
            ),
        ),
        tests=("test_bad_input.py",),
        source="vllm#45060, GHSA-8wr5-jm2h-8r4f",
        quick=True,
    ),
)
