"""The interface to vLLM's rejection samplers, and the choice of one.

A process has one sampler: what vLLM's kernels are is decided when vLLM is imported. The suite is
the same for all of them, `DRAFTGATE_SAMPLER` names the one to test.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Protocol, runtime_checkable

from draftgate.lossless.batch import Batch, BoolArray, FloatArray, IntArray
from draftgate.lossless.law import Verification

VARIABLE = "DRAFTGATE_SAMPLER"
DEFAULT = "v1-native"


class SamplerError(Exception):
    """The sampler asked for does not exist or cannot run here."""


class Sampler(Protocol):
    """A rejection sampler with its own random numbers."""

    name: str
    scale: float  # share of a trial's usual number of requests that this sampler can afford
    verification: Verification  # how it decides which drafts stand

    @property
    def longest_window(self) -> int | None:
        """Most drafts of a request that it takes; None: any number."""

    def sample(self, batch: Batch, seed: int) -> IntArray:
        """Tokens emitted by each request [requests, longest + 1], padded with -1.

        ``seed`` seeds the stream that requests without a seed of their own share.
        """


class Kernels(Protocol):
    """The parts of a sampler that are functions of the random numbers given."""

    verification: Verification

    def match(self, batch: Batch, bonus: IntArray) -> IntArray:
        """Greedy verification. ``bonus``: [requests]. Output as `Sampler.sample`."""

    def accept(
        self, batch: Batch, bonus: IntArray, uniforms: FloatArray, recovered: IntArray
    ) -> IntArray:
        """Random verification, ``uniforms`` float64 and ``recovered`` int per draft."""

    def recover(self, batch: Batch, inverse_noise: FloatArray) -> IntArray:
        """Token [tokens] to take where a draft is rejected and those before it are accepted; -1
        where that cannot happen. ``inverse_noise`` is [requests, vocabulary] float32."""

    def expand(self, values: FloatArray | IntArray, lengths: IntArray) -> FloatArray | IntArray:
        """A request's value for each of its drafts [tokens], in the dtype of ``values``."""


@runtime_checkable
class Drawing(Protocol):
    """A runner whose proposer and target draw from streams of one seed."""

    def draw(
        self,
        logits: FloatArray,
        temperature: FloatArray,
        seeds: IntArray,
        offset: int,
        *,
        drafting: bool,
    ) -> IntArray:
        """A token for each row of ``logits`` [rows, vocabulary] as the proposer (``drafting``) or
        the target draws it at ``offset`` of the window; ``temperature`` and ``seeds`` (int64) are
        [rows]. Window offsets are those of `Sampler.sample`.
        """

    def sample_later(self, batch: Batch, tokens: int) -> IntArray:
        """`Sampler.sample` of a step before which the requests emitted ``tokens`` more. Each has a
        seed of its own."""

    def uniforms(self, seeds: IntArray, positions: IntArray) -> FloatArray:
        """The numbers [draws] that acceptance tests use; ``seeds`` and ``positions``: int64."""


@runtime_checkable
class Chunking(Protocol):
    """A runner that verifies a large batch part by part, for want of memory."""

    def in_chunks_of(self, rows: int) -> Sampler:
        """This sampler, verifying at most ``rows`` rows of logits, or one request, at once."""


class Repairable(Protocol):
    """A sampler with a known defect that tests of everything else must step over."""

    def as_installed(self) -> Sampler:
        """The same sampler without any repair."""


def chosen() -> str:
    """Name of the sampler that this process tests."""
    return os.environ.get(VARIABLE, DEFAULT)


def load_sampler(name: str) -> Sampler:
    """Import vLLM and build the adapter called ``name``; SamplerError where that is impossible."""
    if name not in _LOADERS:
        raise SamplerError(f"no sampler {name!r}: choose one of {', '.join(_LOADERS)}")
    return _LOADERS[name]()


def _v1_native() -> Sampler:
    from draftgate.lossless.v1 import V1Sampler

    return V1Sampler.native()


def _v1_interpreted() -> Sampler:
    _interpret("v1-interpreted")
    from draftgate.lossless.v1 import V1Sampler

    return V1Sampler.triton("v1-interpreted", scale=0.002)


def _v2_interpreted(name: str, verification: Verification) -> Sampler:
    _interpret(name)
    from draftgate.lossless.v2 import V2Sampler

    return V2Sampler(name, verification, scale=0.002)


def _interpret(name: str) -> None:
    from draftgate.lossless.interpreter import InterpreterUnavailableError, install

    try:
        install()
    except InterpreterUnavailableError as error:
        raise SamplerError(f"{name} cannot run: {error}") from error


_LOADERS: Mapping[str, Callable[[], Sampler]] = {
    "v1-native": _v1_native,
    "v1-interpreted": _v1_interpreted,
    "v2-interpreted": partial(_v2_interpreted, "v2-interpreted", "standard"),
    "v2-block-interpreted": partial(_v2_interpreted, "v2-block-interpreted", "block"),
}

__all__ = [
    "BoolArray",
    "Chunking",
    "Drawing",
    "Kernels",
    "Repairable",
    "Sampler",
    "SamplerError",
    "chosen",
    "load_sampler",
]
