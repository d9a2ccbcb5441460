"""Repairs of known defects, so that what lies behind a defect can be tested all the same.

A repair is explicit: an adapter applies it around a call, and its `as_installed()` twin does not.
Each repair names the entry of `known_issues.toml` whose strict xfail tests the broken path.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from draftgate.engine.hooks import Hook

# For `EngineSpec.hooks`: everything that can be repaired in an engine.
REPAIRS = (Hook(function=f"{__name__}:install_expansion"),)


@contextmanager
def repaired_expansion() -> Iterator[None]:
    """L1: the CPU stand-in of V1's `expand_kernel` writes its result where the caller reads it.

    The installed one converts every tensor to int64 first, so that for any other dtype the result
    lands in a temporary, and a float temperature would have lost its fraction besides.
    """
    from vllm.triton_utils.dispatcher import KernelOverride
    from vllm.v1.sample import rejection_sampler

    installed = rejection_sampler._expand.kernel
    repaired = KernelOverride(installed, _expand)
    with patch.object(rejection_sampler._expand, "kernel", repaired):
        yield


def install_expansion() -> None:
    """L1 repaired for good in this process; for `EngineSpec.hooks`, before vLLM has an engine.

    Does nothing where no CPU stand-in is used.
    """
    from vllm.utils import cpu_triton_utils

    cpu_triton_utils._expand_kernel_impl = _expand


def _expand(
    output: Any,
    values: Any,
    cumulative: Any,
    replace_from: int,
    replace_to: int,
    _max_tokens: int | None = None,
) -> None:
    """``output`` [tokens] from ``values`` [requests], in their own dtype."""
    replaced = values.masked_fill(values == replace_from, replace_to)
    output.copy_(replaced.repeat_interleave(cumulative.diff(prepend=cumulative.new_zeros(1))))
