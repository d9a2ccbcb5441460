"""Engines with vLLM's V2 runner, which a GPU runs by default, on a machine without one."""

from __future__ import annotations

from draftgate.engine.hooks import Hook
from draftgate.engine.spec import EngineSpec

INTERPRET = Hook(function="draftgate.lossless.interpreter:install")


def interpreted_v2(spec: EngineSpec) -> EngineSpec:
    """``spec`` on the V2 runner with interpreted kernels: exact, and some ten tokens a second."""
    return spec.model_copy(update={"runner": "v2", "hooks": (INTERPRET, *spec.hooks)})
