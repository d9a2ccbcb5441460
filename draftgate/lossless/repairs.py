"""Repairs of known defects, so that what lies behind a defect can be tested all the same.

A repair is explicit: an adapter applies it around a call, and its `as_installed()` twin does not.
Each repair names the entry of `known_issues.toml` whose strict xfail tests the broken path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from draftgate.engine.hooks import Hook

# For `EngineSpec.hooks`.
KERNEL_SCAN = Hook(function=f"{__name__}:install_kernel_scan")
# Everything that can be repaired in an engine.
REPAIRS = (
    Hook(function=f"{__name__}:install_expansion"),
    KERNEL_SCAN,
    Hook(function=f"{__name__}:install_top_k"),
)


@contextmanager
def repaired_sampler() -> Iterator[None]:
    """All that can be repaired in V1's sampler: L1 and L8."""
    with _repaired_expansion(), _repaired_top_k():
        yield


@contextmanager
def _repaired_expansion() -> Iterator[None]:
    """L1: the CPU stand-in of V1's `expand_kernel` writes its result where the caller reads it.

    The installed one converts every tensor to int64 first, so that for any other dtype the result
    lands in a temporary, and a float temperature would have lost its fraction besides. Nothing is
    changed where no CPU stand-in is used.
    """
    from vllm.triton_utils.dispatcher import KernelOverride
    from vllm.v1.sample import rejection_sampler

    installed = rejection_sampler._expand
    if not isinstance(installed.kernel, KernelOverride):
        yield
        return
    with patch.object(installed, "kernel", KernelOverride(installed.kernel, _expand)):
        yield


@contextmanager
def _repaired_top_k() -> Iterator[None]:
    """L8: a step without drafts has no row for top-k to cut."""
    from vllm.v1.sample import rejection_sampler

    cut = _where_rows_are(rejection_sampler.apply_top_k_top_p)
    with patch.object(rejection_sampler, "apply_top_k_top_p", cut):
        yield


def install_expansion() -> None:
    """L1 repaired for good in this process; for `EngineSpec.hooks`, before vLLM has an engine.

    Does nothing where no CPU stand-in is used.
    """
    from vllm.utils import cpu_triton_utils

    cpu_triton_utils._expand_kernel_impl = _expand


def install_top_k() -> None:
    """L8 repaired for good in this process; for `EngineSpec.hooks`, before vLLM has an engine."""
    from vllm.v1.sample import rejection_sampler

    rejection_sampler.apply_top_k_top_p = _where_rows_are(rejection_sampler.apply_top_k_top_p)


def install_kernel_scan() -> None:
    """L7 repaired for good in this process; for `EngineSpec.hooks`, before vLLM has an engine.

    A module's own name comes before the builtin's.
    """
    from vllm.triton_utils import dispatcher

    dispatcher.vars = _fields


def _where_rows_are(cut: Callable[..., Any]) -> Callable[..., Any]:
    """``cut`` [rows, vocabulary] for logits with rows; without any, they stay as they are."""

    def repaired(logits: Any, k: Any, p: Any) -> Any:
        return cut(logits, k, p) if len(logits) else logits

    return repaired


def _fields(value: Any) -> Mapping[str, Any]:
    """As `vars`; nothing where ``value`` answers any attribute, `__dict__` too, with something."""
    fields = value.__dict__
    return fields if isinstance(fields, Mapping) else {}


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
