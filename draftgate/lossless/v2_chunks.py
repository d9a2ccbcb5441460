"""Lets V2 verify small batches in chunks, which it does where logits would take gigabytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch


@contextmanager
def given_chunks(rows: int | None) -> Iterator[None]:
    """A chunk holds at most ``rows`` rows of logits; None: as many as vLLM says."""
    from vllm.v1.worker.gpu.spec_decode import rejection_sampler

    if rows is None:
        yield
        return
    with patch.object(rejection_sampler, "get_max_chunk_logits", lambda _vocab: rows):
        yield
