"""n-gram lookup through vLLM's own code: every position of a sequence is one row of its batch."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from draftgate.analysis.errors import ReplayError
from draftgate.analysis.proposals import Proposals
from draftgate.analysis.traces import TokenArray

_NO_LIMIT = 1 << 30  # of the model's length: the record's sequences fitted

BatchPropose = Callable[..., None]


@dataclass(frozen=True)
class NgramProposer:
    """vLLM's `ngram` with ``prompt_lookup_min``, ``prompt_lookup_max`` and k = ``cap``.

    Raises ReplayError: impossible settings, or no vLLM with that code.
    """

    prompt_lookup_min: int
    prompt_lookup_max: int
    cap: int
    _batch_propose: BatchPropose = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check the settings and find vLLM's function."""
        if not 1 <= self.prompt_lookup_min <= self.prompt_lookup_max:
            raise ReplayError(
                f"lookup {self.prompt_lookup_min} to {self.prompt_lookup_max}: "
                "the smallest is 1 or more, and at most the largest"
            )
        if self.cap < 1:
            raise ReplayError(f"cap {self.cap}: draft 1 token or more")
        object.__setattr__(self, "_batch_propose", _vllm_batch_propose())

    def propose(self, prompt: TokenArray, output: TokenArray) -> Proposals:
        """Drafts at every position; the rows of the batch are one array seen many times."""
        rows = len(output)
        sequence = np.concatenate([prompt, output]).astype(np.int32)
        tokens = np.zeros((rows, self.cap), dtype=np.int32)
        counts = np.zeros(rows, dtype=np.int32)
        self._batch_propose(
            np.arange(rows),
            len(prompt) + np.arange(rows),
            np.broadcast_to(sequence, (rows, len(sequence))),
            self.prompt_lookup_min,
            self.prompt_lookup_max,
            _NO_LIMIT,
            self.cap,
            tokens,
            counts,
        )
        return Proposals(tokens, counts.astype(np.int64))


def _vllm_batch_propose() -> BatchPropose:
    """vLLM's compiled batch lookup. Importing it takes seconds, and its logger writes to stdout."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            from vllm.v1.spec_decode import ngram_proposer as module
    except ImportError as error:
        raise ReplayError(
            f"n-gram replay runs vLLM's own code, which cannot be imported ({error}); "
            "install draftgate[cpu] or draftgate[gpu]"
        ) from None
    found: Any = getattr(module, "batch_propose_numba", None)
    if found is None:
        raise ReplayError(
            "the installed vLLM has no ngram_proposer.batch_propose_numba; draftgate knows 0.31 "
            "to 0.32: adapt draftgate/analysis/ngram.py"
        )
    propose: BatchPropose = found
    return propose
