from __future__ import annotations

import copy
from typing import Any

import pytest

_SMALL: dict[str, Any] = {
    "schema_version": 1,
    "name": "small",
    "workloads": [
        {"name": "gsm8k", "source": "mini", "prompts": 8, "max_tokens": 16},
        {"name": "aime", "source": "mini", "prompts": 8, "max_tokens": 16},
    ],
    "matrix": [{"workloads": ["gsm8k", "aime"], "batch_sizes": [1, 8]}],
    "targets": [
        {
            "name": "tiny",
            "model": "testbed:llama-tiny",
            "engine_args": {"max_num_seqs": 8},
            "variants": [
                {"name": "none"},
                {
                    "name": "ngram-k3",
                    "speculative_config": {"method": "ngram", "num_speculative_tokens": 3},
                },
            ],
        }
    ],
}


@pytest.fixture
def small() -> dict[str, Any]:
    """A valid profile as parsed TOML, the test's own to break."""
    return copy.deepcopy(_SMALL)
