"""Faults of V1 in what a request asks for: temperature, top-k, penalties, log-probabilities."""

from __future__ import annotations

from functools import partial

from draftgate.lossless.mutants.edits import edited
from draftgate.lossless.mutants.mutant import Mutant

_HOME = "vllm.v1.sample.rejection_sampler"
_CONSTRAINTS = f"{_HOME}:apply_sampling_constraints"
_PROCESSORS = f"{_HOME}:RejectionSampler.apply_logits_processors"
_PENALTIES = f"{_HOME}:RejectionSampler.apply_penalties"
_TEXT = f"{_HOME}:RejectionSampler._combine_outputs_with_spec_tokens"
_FORWARD = f"{_HOME}:RejectionSampler.forward"
_LOGPROBS = f"{_HOME}:RejectionSampler._get_logprobs_tensors"

_lossy = partial(Mutant, where="v1-native", expected_channel="losslessness")
_parameter = partial(_lossy, kind="sampling parameters", tests=("test_distribution.py",))
_history = partial(_lossy, kind="text history", tests=("test_history.py",))
_logprob = partial(_lossy, kind="log-probabilities", tests=("test_logprobs.py",))

MUTANTS = (
    _parameter(
        "v1-drafts-without-top-k",
        apply=edited(_CONSTRAINTS, ("if sampling_metadata.top_k is not None:", "if False:")),
    ),
    _parameter(
        "v1-drafts-without-top-p",
        apply=edited(_CONSTRAINTS, ("if sampling_metadata.top_p is not None:", "if False:")),
    ),
    _parameter(
        "v1-drafts-without-temperature",
        apply=edited(_CONSTRAINTS, ("logits.div_(temperature.unsqueeze(-1))", "pass")),
        quick=True,
    ),
    _parameter(
        "v1-temperature-of-the-next-row",
        apply=edited(
            _CONSTRAINTS,
            (
                "logits.div_(temperature.unsqueeze(-1))",
                "logits.div_(temperature.roll(-1).unsqueeze(-1))",
            ),
        ),
    ),
    _parameter(
        "v1-windows-stay-in-bfloat16",
        apply=edited(_FORWARD, ("raw_target_logits = raw_target_logits.to(torch.float32)", "pass")),
        tests=("test_precision.py",),
        sole=True,
    ),
    _parameter(
        "v1-expansion-to-the-wrong-request",
        apply=edited(
            f"{_HOME}:expand_batch_to_tokens",
            (
                "    _expand(\n        expanded_x,\n        x,",
                "    _expand(\n        expanded_x,\n        x.flip(0),",
            ),
        ),
        tests=("test_expansion.py",),
        quick=True,
    ),
    _parameter(
        "v1-expansion-lost-for-one-dtype",
        apply=edited(
            f"{_HOME}:expand_batch_to_tokens",
            (
                "    return expanded_x",
                "    return x.new_zeros(num_tokens) if x.dtype == torch.int64 else expanded_x",
            ),
        ),
        tests=("test_expansion.py",),
        source="vllm#55005: the write is lost for all dtypes but one",
        sole=True,
    ),
    _history(
        "v1-penalties-ignore-drafts",
        apply=edited(_TEXT, ("[*result[-1], spec[i]]", "[*result[-1]]")),
        source="vllm#22987",
        quick=True,
    ),
    _history(
        "v1-drafts-without-penalties",
        apply=edited(_PENALTIES, ("if sampling_metadata.no_penalties:", "if True:")),
    ),
    _history(
        "v1-penalties-of-another-request",
        apply=edited(
            _PENALTIES,
            ("frequency_penalties[repeat_indices]", "frequency_penalties[repeat_indices.flip(0)]"),
        ),
        sole=True,
    ),
    _history(
        "v1-drafts-without-bad-words",
        apply=edited(
            _PROCESSORS,
            (
                "if bad_words_token_ids := sampling_metadata.bad_words_token_ids:",
                "if bad_words_token_ids := None:",
            ),
        ),
    ),
    _history(
        "v1-drafts-may-be-any-token",
        apply=edited(
            _PROCESSORS, ("logits.masked_fill_(token_mask", "logits.masked_fill(token_mask")
        ),
    ),
    _history(
        "v1-top-k-before-penalties",
        apply=edited(
            _FORWARD,
            (
                "target_logits = self.apply_logits_processors(",
                "target_logits = (lambda logits, *_: logits)(",
            ),
            (
                "output_token_ids = rejection_sample(",
                "target_logits = self.apply_logits_processors("
                "target_logits, sampling_metadata, metadata)\n"
                "    output_token_ids = rejection_sample(",
            ),
        ),
    ),
    _logprob(
        "v1-logprobs-under-each-others-ids",
        apply=edited(
            _LOGPROBS,
            (
                "return self.sampler.gather_logprobs(",
                "return (lambda found: found._replace(logprob_token_ids="
                "found.logprob_token_ids[:, [0, *range(max_num_logprobs, 0, -1)]]))("
                "self.sampler.gather_logprobs(",
            ),
            ("accepted_tokens.to(torch.int64),\n    )", "accepted_tokens.to(torch.int64),\n    ))"),
        ),
    ),
    _logprob(
        "v1-logprobs-of-processed-logits",
        apply=edited(_FORWARD, ("target_logits = target_logits.clone()", "pass")),
        source="vllm#30846",
    ),
    _logprob(
        "v1-logprobs-of-the-first-request",
        apply=edited(
            _LOGPROBS,
            ("cu_num_sampled_tokens[1:] = metadata.cu_num_sampled_tokens[:-1]", "pass"),
        ),
        sole=True,
    ),
    _logprob(
        "v1-bonus-logprob-flat",
        apply=edited(
            _LOGPROBS,
            ("final_logits[bonus_logits_indices] = bonus_logits.to(torch.float32)", "pass"),
        ),
        source="vllm#34497, vllm#17876",
        quick=True,
    ),
)
