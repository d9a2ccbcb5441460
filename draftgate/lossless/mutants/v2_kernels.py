"""Faults of the V2 runner's kernels, and of what calls them."""

from __future__ import annotations

from functools import partial
from typing import Any

from draftgate.lossless.mutants.edits import edited, replaced, wrapped
from draftgate.lossless.mutants.mutant import Mutant

_HOME = "vllm.v1.worker.gpu.spec_decode.rejection_sampler_utils"
_GUMBEL = "vllm.v1.worker.gpu.sample.gumbel"
_VERIFY = f"{_HOME}:_rejection_kernel"
_RESAMPLE = f"{_HOME}:_resample_kernel"
_PROBABILITIES = f"{_HOME}:_compute_global_logprobs_and_logsumexp"
_CHUNKS = "vllm.v1.worker.gpu.spec_decode.rejection_sampler:RejectionSampler._verify_in_chunks"
_NOISE = f"{_GUMBEL}:gumbel_noised_argmax"

_lossy = partial(
    Mutant,
    where="v2-interpreted",
    expected_channel="losslessness",
    tests=("test_verification.py",),
)
_streams = partial(_lossy, kind="random numbers", tests=("test_draft_streams.py",))
_chunks = partial(_lossy, tests=("test_chunks.py",))
_wide = partial(_lossy, tests=("test_wide_vocabulary.py",))
_block = partial(_lossy, where="v2-block-interpreted")


def _no_salt() -> Any:
    import triton.language as tl

    return tl.constexpr(0)


def _smaller(rand: Any) -> Any:
    def call(seed: Any, position: Any, includes_zero: Any) -> Any:
        return rand(seed, position, includes_zero) * 0.9

    return call


MUTANTS = (
    _streams(
        "v2-draft-and-target-share-a-stream",
        apply=replaced(f"{_GUMBEL}:_DRAFT_NOISE_SALT", _no_salt),
        source="vllm#54282, vllm#47386",
        quick=True,
    ),
    _streams(
        "v2-noise-ignores-the-position",
        apply=edited(
            _NOISE, ("murmur3_uniform32(seed, pos, keys)", "murmur3_uniform32(seed, seed, keys)")
        ),
    ),
    _streams(
        "v2-noise-ignores-the-seed",
        apply=edited(
            _NOISE, ("murmur3_uniform32(seed, pos, keys)", "murmur3_uniform32(pos, pos, keys)")
        ),
    ),
    _streams(
        "v2-uniforms-a-tenth-small",
        apply=wrapped(f"{_HOME}:tl_rand32", _smaller),
        sole=True,
    ),
    _streams(
        "v2-noise-repeats-along-the-row",
        apply=edited(
            _NOISE,
            ("murmur3_uniform32(seed, pos, keys)", "murmur3_uniform32(seed, pos, keys % 8192)"),
        ),
    ),
    _streams(
        "v2-residual-with-the-drafts-noise",
        apply=edited(f"{_HOME}:_seeded_resample_argmax", ("IS_DRAFTING=False", "IS_DRAFTING=True")),
        source="vllm-ascend#16370, a number that serves twice",
    ),
    _lossy(
        "v2-accept-always",
        "acceptance test",
        apply=edited(_VERIFY, ("tl.log(u) + draft_logprob", 'float("-inf")')),
        source="vllm-ascend#13766",
        quick=True,
    ),
    _lossy(
        "v2-one-uniform-a-request",
        "random numbers",
        apply=edited(_VERIFY, ("tl.load(pos_ptr + logit_idx)", "tl.load(pos_ptr + start_idx)")),
    ),
    _lossy(
        "v2-goes-on-after-a-rejection",
        "acceptance test",
        apply=edited(
            _VERIFY,
            (
                "                    accepted = target_logprob > tl.log(u) + draft_logprob\n"
                "                verifying = accepted",
                "                    accepted = target_logprob > tl.log(u) + draft_logprob\n"
                "                verifying = True",
            ),
        ),
    ),
    _lossy(
        "v2-batch-index-for-slot",
        "rows",
        apply=edited(
            _VERIFY, ("tl.load(idx_mapping_ptr + req_idx).to(tl.int64)", "req_idx.to(tl.int64)")
        ),
        quick=True,
    ),
    _lossy(
        "v2-placeholder-accepted",
        "placeholders",
        apply=edited(_VERIFY, ("verifying &= is_valid_draft", "pass")),
        tests=("test_placeholders.py",),
    ),
    _lossy(
        "v2-draft-without-temperature",
        "sampling parameters",
        apply=edited(
            _PROBABILITIES,
            (
                "            ).to(tl.float32)\n            / temp\n",
                "            ).to(tl.float32)\n",
            ),
        ),
    ),
    _lossy(
        "v2-recovered-from-the-target",
        "residual",
        apply=edited(_RESAMPLE, ("if is_bonus or not is_valid_rejected_draft:", "if True:")),
    ),
    _lossy(
        "v2-recovers-the-certain-draft",
        "residual",
        apply=edited(_RESAMPLE, ("block != rejected_draft_token", "block >= 0")),
    ),
    _lossy(
        "v2-residual-of-another-step",
        "residual",
        apply=edited(_RESAMPLE, ("+ resample_idx * draft_logits_stride_1", "+ 0")),
    ),
    _lossy(
        "v2-penalties-ignore-drafts",
        "text history",
        apply=edited(
            "vllm.v1.worker.gpu.sample.penalties:_penalties_kernel",
            ("for prev_pos in tl.range(pos):", "for prev_pos in tl.range(0):"),
        ),
        tests=("test_history.py",),
        source="vllm#22987",
    ),
    _lossy(
        "v2-bad-words-one-token-late",
        "text history",
        apply=edited(
            "vllm.v1.worker.gpu.sample.bad_words:_bad_words_kernel",
            ("cur_req_first_pos + spec_offset + 1", "cur_req_first_pos + spec_offset"),
        ),
        tests=("test_history.py",),
    ),
    _wide(
        "v2-blocks-weigh-alike",
        "acceptance test",
        apply=edited(
            f"{_HOME}:_compute_global_logsumexp",
            ("tl.sum(sumexps * tl.exp(maxes - global_max))", "tl.sum(sumexps)"),
        ),
    ),
    _wide(
        "v2-greedy-choice-within-its-block",
        "greedy",
        apply=edited(
            f"{_HOME}:_compute_local_logits_stats_kernel",
            ("token_id = block_idx * BLOCK_SIZE + idx", "token_id = idx"),
        ),
    ),
    _wide(
        "v2-recovered-within-its-block",
        "residual",
        apply=edited(_RESAMPLE, ("token_id = block_idx * BLOCK_SIZE + idx", "token_id = idx")),
    ),
    _chunks(
        "v2-chunk-with-the-drafts-of-the-first",
        "text history",
        apply=edited(_CHUNKS, ("   draft_sampled[lo:hi],", "   draft_sampled,")),
    ),
    _chunks(
        "v2-chunk-with-the-parameters-of-the-first",
        "rows",
        apply=edited(
            _CHUNKS,
            (
                "input_batch.expanded_idx_mapping[lo:hi]",
                "input_batch.expanded_idx_mapping[: hi - lo]",
            ),
        ),
        sole=True,
    ),
    _chunks(
        "v2-chunk-with-the-logprobs-of-the-first",
        "log-probabilities",
        apply=edited(
            _CHUNKS, ("use_processed_logits else logits[lo:hi]", "False else logits[: hi - lo]")
        ),
    ),
    _block(
        "v2-block-threshold-too-low",
        "acceptance test",
        apply=edited(
            _VERIFY,
            ("denom = residual_mass + 1.0 - prefix_joint_ratio", "denom = residual_mass + 1.0"),
        ),
        source="vllm-ascend#7807",
    ),
    _block(
        "v2-block-residual-unscaled",
        "residual",
        apply=edited(_RESAMPLE, ("target_log_probs += log_p_tau", "pass")),
    ),
    _block(
        "v2-block-keeps-the-first-that-passes",
        "acceptance test",
        apply=edited(
            _VERIFY,
            (
                "accepted_length = tl.where(u <= h, i + 1, accepted_length)",
                "accepted_length = tl.where((u <= h) & (accepted_length == 0), i + 1, "
                "accepted_length)",
            ),
        ),
    ),
)
