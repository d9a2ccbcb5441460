"""Runs vLLM's Triton kernels without a GPU, under Triton's interpreter.

`install` must run before vLLM is imported; a process that has imported it cannot change its mind.
It changes which code runs, never what a kernel computes:

- `TRITON_INTERPRET=1` makes `triton.jit` build interpreted functions;
- vLLM on CPU gives up Triton unless a `cpu` backend is registered whose driver is active, so one is
  registered that has nothing but that (the interpreter compiles nothing);
- vLLM's top-k/top-p kernel iterates over program ids in a way that the interpreter does not
  support (`'int' object has no attribute 'to'`), so its PyTorch path is taken, as without Triton.

About 20 requests a second: for exact checks and small trials.
"""

from __future__ import annotations

import os
import sys


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
    from triton.backends import Backend, backends  # type: ignore[import-untyped]

    if "cpu" not in backends:
        backends["cpu"] = Backend(compiler=None, driver=_ActiveDriver)
    from vllm.v1.sample.ops import topk_topp_sampler

    topk_topp_sampler.HAS_TRITON = False


def _vllm_has_triton() -> bool:
    from vllm.triton_utils import HAS_TRITON

    return bool(HAS_TRITON)
