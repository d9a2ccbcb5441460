"""Faults of the V1 runner's rejection sampler, in the Python around its kernels."""

from __future__ import annotations

from functools import partial

from draftgate.lossless.mutants.edits import edited
from draftgate.lossless.mutants.mutant import Mutant

_HOME = "vllm.v1.sample.rejection_sampler"
_UNIFORMS = f"{_HOME}:generate_uniform_probs"
_RECOVERED = f"{_HOME}:sample_recovered_tokens"
_VERIFY = f"{_HOME}:rejection_sample"
_FORWARD = f"{_HOME}:RejectionSampler.forward"

_LAW = ("test_distribution.py",)
_lossy = partial(Mutant, where="v1-native", expected_channel="losslessness", tests=_LAW)

MUTANTS = (
    _lossy(
        "v1-accept-always",
        "random numbers",
        apply=edited(_UNIFORMS, ("    return uniform_probs", "    return uniform_probs.zero_()")),
        source="vllm-ascend#13766",
        quick=True,
    ),
    _lossy(
        "v1-uniforms-squared",
        "random numbers",
        apply=edited(_UNIFORMS, ("    return uniform_probs", "    return uniform_probs.square_()")),
        quick=True,
    ),
    _lossy(
        "v1-uniforms-a-percent-small",
        "random numbers",
        apply=edited(
            _UNIFORMS, ("    return uniform_probs", "    return uniform_probs.mul_(0.97)")
        ),
        sole=True,
    ),
    _lossy(
        "v1-one-uniform-a-request",
        "random numbers",
        apply=edited(
            _UNIFORMS,
            (
                "        start_idx = end_idx",
                "        uniform_probs[start_idx:end_idx] = "
                "uniform_probs[start_idx].clone()\n        start_idx = end_idx",
            ),
        ),
    ),
    _lossy(
        "v1-seed-ignored",
        "random numbers",
        apply=edited(_UNIFORMS, ("if generator is not None:", "if False:")),
        tests=("test_seeds.py",),
        source="vllm#6038, vllm#13196",
        quick=True,
    ),
    _lossy(
        "v1-seed-of-the-neighbour",
        "random numbers",
        apply=edited(_UNIFORMS, ("generators.get(req_idx)", "generators.get(req_idx - 1)")),
        tests=("test_seeds.py",),
        sole=True,
    ),
    _lossy(
        "v1-recovery-noise-uniform",
        "residual",
        apply=edited(_RECOVERED, ("    q.exponential_()", "    q.uniform_()")),
        quick=True,
    ),
    _lossy(
        "v1-recovery-noise-shared",
        "residual",
        apply=edited(
            _RECOVERED,
            ("inv_q = q.reciprocal()", "inv_q = q[:1].expand_as(q).reciprocal().contiguous()"),
        ),
    ),
    _lossy(
        "v1-recovered-as-if-certain",
        "residual",
        apply=edited(
            _RECOVERED,
            (
                "        draft_probs,\n        target_probs,\n        inv_q",
                "        None,\n        target_probs,\n        inv_q",
            ),
        ),
        quick=True,
    ),
    _lossy(
        "v1-recovered-from-the-proposal",
        "residual",
        apply=edited(
            _RECOVERED,
            (
                "        draft_probs,\n        target_probs,\n        inv_q",
                "        None,\n        target_probs if draft_probs is None else draft_probs,\n"
                "        inv_q",
            ),
        ),
    ),
    _lossy(
        "v1-proposal-rows-rotated",
        "rows",
        apply=edited(
            _VERIFY,
            (
                "    # Sample recovered tokens for each position.",
                "    draft_probs = None if draft_probs is None else draft_probs.roll(1, 0)\n"
                "    # Sample recovered tokens for each position.",
            ),
        ),
        quick=True,
    ),
    _lossy(
        "v1-greedy-rows-rotated",
        "greedy",
        apply=edited(
            _VERIFY, ("target_logits.argmax(dim=-1)", "target_logits.roll(1, 0).argmax(dim=-1)")
        ),
    ),
    _lossy(
        "v1-scaled-by-the-largest-of-the-batch",
        "rows",
        apply=edited(
            _VERIFY,
            (
                "target_logits.softmax(dim=-1, dtype=torch.float32)",
                "(target_logits - target_logits.max()).softmax(dim=-1, dtype=torch.float32)",
            ),
        ),
        tests=("test_bad_input.py",),
        source="vllm#45060: one broken row, other requests' text",
    ),
    _lossy(
        "v1-one-broken-row-flattens-the-batch",
        "rows",
        apply=edited(
            _VERIFY,
            (
                "target_logits.softmax(dim=-1, dtype=torch.float32)",
                "(target_logits * (not target_logits.isnan().any())).softmax("
                "dim=-1, dtype=torch.float32)",
            ),
        ),
        tests=("test_bad_input.py",),
        source="vllm#45060: one broken row, other requests' text",
        sole=True,
    ),
    _lossy(
        "v1-cool-requests-are-greedy",
        "greedy",
        apply=edited(
            _VERIFY,
            (
                "sampling_metadata.temperature == GREEDY_TEMPERATURE",
                "sampling_metadata.temperature < 0.7",
            ),
        ),
    ),
    _lossy(
        "v1-missing-proposal-is-anothers",
        "rows",
        apply=edited(
            "vllm.v1.worker.gpu_model_runner:GPUModelRunner._get_spec_decode_draft_probs",
            ("row_by_req_id.get(req_id)", "row_by_req_id.get(req_id, 0)"),
        ),
        tests=("test_draft_rows.py",),
        sole=True,
    ),
    _lossy(
        "v1-placeholder-read-as-token-0",
        "placeholders",
        apply=edited(
            _VERIFY,
            (
                "    # Create output buffer.",
                "    draft_token_ids = draft_token_ids.clamp(min=0)\n    # Create output buffer.",
            ),
        ),
        tests=("test_placeholders.py",),
        source="vllm#46533",
        sole=True,
    ),
    _lossy(
        "v1-bonus-row-before",
        "bonus token",
        apply=edited(
            _FORWARD,
            (
                "bonus_logits = logits[bonus_logits_indices]",
                "bonus_logits = logits[(bonus_logits_indices - 1).clamp(min=0)]",
            ),
        ),
        quick=True,
    ),
    _lossy(
        "v1-bonus-is-greedy",
        "bonus token",
        apply=edited(
            _FORWARD,
            (
                "bonus_token_ids = bonus_sampler_output.sampled_token_ids",
                "bonus_token_ids = bonus_logits.argmax(-1, keepdim=True).to(torch.int32)",
            ),
        ),
    ),
    _lossy(
        "v1-logits-changed-in-place",
        "rows",
        apply=edited(_FORWARD, ("assert logits is not None", "logits.sub_(1)")),
        tests=("test_verification.py",),
        source="vllm-ascend#2881",
        quick=True,
    ),
    Mutant(
        "v1-proposal-dropped",
        "acceptance test",
        "v1-native",
        "acceptance",
        edited(
            _FORWARD,
            (
                "        draft_probs,\n        target_logits,",
                "        None,\n        target_logits,",
            ),
        ),
        tests=_LAW,
        source="vllm#40269",
        quick=True,
    ),
)
