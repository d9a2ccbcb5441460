"""Runs vLLM's Triton kernels without a GPU, under Triton's interpreter.

`install` must run before vLLM is imported; a process that has imported it cannot change its mind.
It changes which code runs, never what a kernel computes:

- `TRITON_INTERPRET=1` makes `triton.jit` build interpreted functions;
- vLLM on CPU gives up Triton unless a `cpu` backend is registered whose driver is active, so one is
  registered that has nothing but that (the interpreter compiles nothing);
- vLLM's top-k/top-p kernel iterates over program ids in a way that the interpreter does not
  support (`'int' object has no attribute 'to'`), so its PyTorch path is taken, as without Triton;
- the interpreter refuses a mask that is an integer (`mask has unsupported dtype`), which the
  compiler takes: masks are made boolean first;
- the interpreter has no bodies for the device library, whose `log1p` the V2 runner's kernel calls:
  numpy's stands in;
- the interpreter patches `triton.language` anew at every call of a device function, nine tenths of
  its time: it is patched once and stays so.

About 100 requests a second: for exact checks and small trials.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any


class InterpreterUnavailableError(RuntimeError):
    """vLLM or Triton was imported before, with other kernels."""


class _ActiveDriver:
    """A driver that vLLM counts as present."""

    @staticmethod
    def is_active() -> bool:
        return True


def install() -> None:
    """Make this process's vLLM use interpreted kernels. Safe to call twice.

    Raises InterpreterUnavailableError where vLLM or Triton is already imported without them.
    """
    if os.environ.get("TRITON_INTERPRET") != "1" and "triton" in sys.modules:
        raise InterpreterUnavailableError("triton was imported before TRITON_INTERPRET was set")
    if "vllm.triton_utils" in sys.modules and not _vllm_has_triton():
        raise InterpreterUnavailableError("vllm was imported before its kernels were chosen")
    os.environ["TRITON_INTERPRET"] = "1"
    from triton.backends import Backend, backends

    if "cpu" not in backends:
        backends["cpu"] = Backend(compiler=None, driver=_ActiveDriver)
        _accept_integer_masks()
        _give_log1p_a_body()
        _patch_language_once()
    from vllm.v1.sample.ops import topk_topp_sampler

    topk_topp_sampler.HAS_TRITON = False


def _accept_integer_masks() -> None:
    from triton.runtime.interpreter import InterpreterBuilder

    load, store = InterpreterBuilder.create_masked_load, InterpreterBuilder.create_masked_store

    def masked_load(builder: Any, ptrs: Any, mask: Any, *rest: Any) -> Any:
        return load(builder, ptrs, _boolean(mask), *rest)

    def masked_store(builder: Any, ptrs: Any, value: Any, mask: Any, *rest: Any) -> Any:
        return store(builder, ptrs, value, _boolean(mask), *rest)

    InterpreterBuilder.create_masked_load = masked_load
    InterpreterBuilder.create_masked_store = masked_store


def _boolean(mask: Any) -> Any:
    if mask.data.dtype != bool:
        mask.data = mask.data.astype(bool)
    return mask


def _give_log1p_a_body() -> None:
    import numpy as np
    from triton.language.extra import libdevice

    libdevice.log1p = elementwise(np.log1p)


def _patch_language_once() -> None:
    import triton.language as tl
    from triton.runtime import interpreter

    def sees_both() -> None:
        """What `_patch_lang` patches is what a function's globals hold."""

    interpreter._patch_lang(FunctionType(sees_both.__code__, {"tl": tl, "core": tl.core}))
    interpreter._patch_lang = lambda _function: interpreter._LangPatchScope()


def elementwise(function: Callable[..., Any]) -> Callable[..., Any]:
    """An interpreted kernel's function that maps its first argument's values.

    ``function`` gets a numpy array and returns one of the same shape. The result has the
    argument's type, or the element type given as ``dtype``.
    """

    def apply(value: Any, *_ignored: Any, dtype: Any = None, **_keywords: Any) -> Any:
        element = dtype or value.dtype
        return _tensor(function(value.handle.data), element, value.shape)

    return apply


def scalar(value: float, dtype: Any) -> Any:
    """A scalar of an interpreted kernel, ``dtype`` one of `triton.language`'s."""
    import numpy as np

    return _tensor(np.array([value]), dtype, ())


def _tensor(data: Any, dtype: Any, shape: Sequence[int]) -> Any:
    import triton.language as tl
    from triton.runtime.interpreter import TensorHandle, _get_np_dtype

    kind = tl.block_type(dtype, list(shape)) if shape else dtype
    return tl.tensor(TensorHandle(data.astype(_get_np_dtype(dtype)), dtype), kind)


def _vllm_has_triton() -> bool:
    from vllm.triton_utils import HAS_TRITON

    return bool(HAS_TRITON)
