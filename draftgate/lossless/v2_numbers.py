"""Gives interpreted V2 kernels their random numbers.

V2 draws inside its kernels, from hashes of seed and position. An interpreted kernel finds the
functions it calls in its module when it calls them, so a test can put others in their place.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from draftgate.lossless.batch import FloatArray, IntArray
from draftgate.lossless.interpreter import elementwise, scalar


@contextmanager
def given_uniforms(uniforms: FloatArray) -> Iterator[None]:
    """Acceptance tests use ``uniforms`` [position]; infinity rejects, 0 accepts what it can."""

    def rand(_seed: Any, position: Any, includes_zero: bool) -> Any:
        import triton.language as tl

        return scalar(uniforms[int(position)], tl.float32)

    with _in_rejection("tl_rand32", rand):
        yield


@contextmanager
def given_choices(choices: IntArray) -> Iterator[None]:
    """Recovered and bonus tokens are ``choices`` [row of logits]."""

    def choose(
        _logits: Any, _block: Any, _mask: Any, row: Any, *_rest: Any, **_options: Any
    ) -> Any:
        import triton.language as tl

        return scalar(0.0, tl.float32), scalar(choices[int(row)], tl.int32)

    with _in_rejection("gumbel_block_argmax", choose):
        yield


@contextmanager
def given_noise(inverse_noise: FloatArray) -> Iterator[None]:
    """Gumbel noise is the logarithm of ``inverse_noise`` [seed, vocabulary].

    The kernel makes exponential noise of a uniform number and takes its logarithm; here the first
    step passes on what it is given.
    """
    from vllm.v1.worker.gpu.sample import gumbel

    vocab = inverse_noise.shape[1]

    def exponential(seed: Any, _position: Any, tokens: Any) -> Any:
        import triton.language as tl

        row = 1 / inverse_noise[int(seed)]
        noise = elementwise(lambda ids: row[np.minimum(ids, vocab - 1)])
        return noise(tokens, dtype=tl.float32)

    with ExitStack() as stack:
        stack.enter_context(patch.object(gumbel, "murmur3_uniform32", exponential))
        stack.enter_context(patch.object(gumbel, "_log1p_neg_stable", elementwise(np.negative)))
        yield


def _in_rejection(name: str, function: Any) -> Any:
    from vllm.v1.worker.gpu.spec_decode import rejection_sampler_utils

    return patch.object(rejection_sampler_utils, name, function)
