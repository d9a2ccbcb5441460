"""Suffix decoding through Arctic Inference's own cache, called as vLLM's proposer calls it."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np

from draftgate.analysis.errors import ReplayError
from draftgate.analysis.proposals import Proposals
from draftgate.analysis.traces import TokenArray

# vLLM's defaults of `suffix_decoding_*`
_MAX_TREE_DEPTH = 24
_MAX_CACHED_REQUESTS = 10_000
_MAX_SPEC_FACTOR = 1.0
_MIN_TOKEN_PROB = 0.1


@dataclass
class SuffixProposer:
    """vLLM's `suffix` with k = ``cap``; remembers the requests it has seen, in their order.

    Raises ReplayError where `arctic-inference` is not installed.
    """

    cap: int
    _cache: Any = field(default=None, repr=False)
    _requests: int = 0

    def __post_init__(self) -> None:
        """Build the cache."""
        self._cache = self._cache or _new_cache()

    def propose(self, prompt: TokenArray, output: TokenArray) -> Proposals:
        """Drafts at every position; with no output yet vLLM does not ask, so row 0 is empty."""
        request, self._requests = self._requests, self._requests + 1
        sequence = np.concatenate([prompt, output]).astype(np.int32)
        tokens = np.zeros((len(output), self.cap), dtype=np.int32)
        counts = np.zeros(len(output), dtype=np.int64)
        self._cache.start_request(request, prompt)
        for row in range(1, len(output)):
            self._cache.add_active_response(request, [int(output[row - 1])])
            end = len(prompt) + row
            draft = self._cache.speculate(
                request,
                sequence[max(0, end - _MAX_TREE_DEPTH) : end],
                max_spec_tokens=self.cap,
                max_spec_factor=_MAX_SPEC_FACTOR,
                min_token_prob=_MIN_TOKEN_PROB,
            ).token_ids
            counts[row] = len(draft)
            tokens[row, : len(draft)] = draft
        if len(output):
            self._cache.add_active_response(request, [int(output[-1])])
        self._cache.stop_request(request)
        return Proposals(tokens, counts)


def _new_cache() -> Any:
    try:
        module = import_module("arctic_inference.suffix_decoding")
    except ImportError:
        raise ReplayError(
            "suffix replay needs arctic-inference; install it, or use --method ngram"
        ) from None
    return module.SuffixDecodingCache(
        max_tree_depth=_MAX_TREE_DEPTH, max_cached_requests=_MAX_CACHED_REQUESTS
    )
