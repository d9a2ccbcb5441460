"""Changes that compute the same: the suite must let them live."""

from __future__ import annotations

from functools import partial
from typing import Any

from draftgate.lossless.mutants.edits import edited, replaced
from draftgate.lossless.mutants.mutant import Mutant

_V1 = "vllm.v1.sample.rejection_sampler"
_V2 = "vllm.v1.worker.gpu.spec_decode.rejection_sampler_utils"

_control = partial(Mutant, kind="control", expected_channel=None)


def _another_salt() -> Any:
    import triton.language as tl

    return tl.constexpr(1 << 29)


MUTANTS = (
    _control(
        "control-v1-mirrored-uniforms",
        where="v1-native",
        apply=edited(
            f"{_V1}:generate_uniform_probs",
            ("    return uniform_probs", "    return 1 - uniform_probs"),
        ),
    ),
    _control(
        "control-v1-noise-drawn-backwards",
        where="v1-native",
        apply=edited(
            f"{_V1}:sample_recovered_tokens",
            ("inv_q = q.reciprocal()", "inv_q = (1.0 / q).contiguous()"),
        ),
    ),
    _control(
        "control-v1-logits-cloned-twice",
        where="v1-native",
        apply=edited(
            f"{_V1}:RejectionSampler.forward",
            (
                "target_logits = target_logits.clone()",
                "target_logits = target_logits.clone().clone()",
            ),
        ),
        quick=True,
    ),
    _control(
        "control-v1-kernel-product-for-quotient",
        where="v1-interpreted",
        apply=edited(
            f"{_V1}:rejection_random_sample_kernel",
            (
                "target_prob / draft_prob >= uniform_prob",
                "target_prob >= uniform_prob * draft_prob",
            ),
        ),
    ),
    _control(
        "control-v2-another-salt",
        where="v2-interpreted",
        apply=replaced("vllm.v1.worker.gpu.sample.gumbel:_DRAFT_NOISE_SALT", _another_salt),
    ),
    _control(
        "control-v2-log-ratio",
        where="v2-interpreted",
        apply=edited(
            f"{_V2}:_rejection_kernel",
            (
                "accepted = target_logprob > tl.log(u) + draft_logprob",
                "accepted = target_logprob - draft_logprob > tl.log(u)",
            ),
        ),
    ),
)
