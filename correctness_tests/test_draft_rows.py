"""Drawn drafts are weighed with the distribution that each was drawn from, or as if certain.

V1 keeps a proposal by the row that a request had when it drafted. By the time of the verification
rows have changed, and a request may have been left out of a step while others drafted anew. The law
allows to take drafts for certain (`test_law.py`); another request's proposal it does not.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from batches import examples
from hypothesis import given
from hypothesis import strategies as st

from draftgate.lossless.samplers import DEFAULT, Sampler, chosen

VOCAB, K = 5, 3


@pytest.fixture(scope="module")
def runner(sampler: Sampler) -> type:
    """V1's model runner."""
    if chosen() != DEFAULT:
        pytest.skip("not the sampler's: tested once")
    from vllm.v1.worker.gpu_model_runner import GPUModelRunner

    if not hasattr(GPUModelRunner, "_get_spec_decode_draft_probs"):
        pytest.skip("this vLLM keeps no proposal")
    return GPUModelRunner


@given(
    drafted=st.lists(st.integers(0, 9), min_size=1, max_size=6, unique=True),
    verified=st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, K)),
        min_size=1,
        max_size=6,
        unique_by=lambda row: row[0],
    ),
    seed=st.integers(0, 2**32),
)
@examples(200)
def test_each_draft_has_its_own_proposal(
    runner: type, drafted: list[int], verified: list[tuple[int, int]], seed: int
) -> None:
    """``drafted``: requests by row, when they drafted; ``verified``: by row now, with their k."""
    import torch

    kept = torch.from_numpy(np.random.default_rng(seed).random((len(drafted), K, VOCAB)))
    holder = SimpleNamespace(
        _draft_probs=kept,
        _draft_prob_req_ids=[str(name) for name in drafted],
        input_batch=SimpleNamespace(req_ids=[str(name) for name, _ in verified]),
    )
    window = SimpleNamespace(num_draft_tokens=[k for _, k in verified])
    found = runner._get_spec_decode_draft_probs(holder, window)
    drafting = [(name, k) for name, k in verified if k]
    if not drafting or any(name not in drafted for name, _ in drafting):
        assert found is None
        return
    own = torch.cat([kept[drafted.index(name), :k] for name, k in drafting])
    torch.testing.assert_close(found, own, rtol=0, atol=0)
