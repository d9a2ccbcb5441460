"""Faults to plant in an engine's child, so that a test can show that they are caught."""

from __future__ import annotations

from typing import Any


def stale_keys() -> None:
    """A verified window's first token leaves no keys and values in the cache.

    Its place keeps those of the draft that was rejected there a step before, or nothing. CPU only.
    """
    from vllm.v1.attention.backends.cpu_attn import CPUAttentionMetadataBuilder

    build = CPUAttentionMetadataBuilder.build

    def faulty(self: Any, common_prefix_len: int, metadata: Any, fast_build: bool = False) -> Any:
        starts = metadata.query_start_loc[:-1].long()
        lengths = metadata.query_start_loc.diff()
        verified = (lengths > 1) & (lengths < metadata.seq_lens)  # not a prompt's only chunk
        metadata.slot_mapping[starts[verified]] = -1
        return build(self, common_prefix_len, metadata, fast_build)

    CPUAttentionMetadataBuilder.build = faulty
