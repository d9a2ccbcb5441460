"""The profile of the inner runs: three arms with a timed workload, and another target."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Run = Callable[..., pytest.RunResult]

ISA_FOLDER = "baselines/portable/x86-avx2-fp32"

PROFILE = """\
schema_version = 1
name = "small"
workloads = [
    { name = "gsm8k", source = "mini", prompts = 3, max_tokens = 64 },
    { name = "sharegpt", source = "mini", prompts = 3, max_tokens = 64 },
]

[limits]
output_throughput = 0.15
speedup = 0.10

[[matrix]]
workloads = ["gsm8k"]
batch_sizes = [2]
targets = ["tiny"]

[[matrix]]
workloads = ["sharegpt"]
batch_sizes = [2]
timed = false

[[targets]]
name = "tiny"
model = "testbed:llama-tiny"
variants = [
    { name = "none" },
    { name = "ngram-k3", speculative_config = { method = "ngram", num_speculative_tokens = 3 } },
    { name = "ngram-k2", speculative_config = { method = "ngram", num_speculative_tokens = 2 } },
]

[[targets]]
name = "other"
model = "testbed:llama-tiny"
variants = [
    { name = "none" },
    { name = "ngram-k3", speculative_config = { method = "ngram", num_speculative_tokens = 3 } },
]
"""
