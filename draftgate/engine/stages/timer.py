"""Attaching the timeline to vLLM: to the runner in its worker, and to scheduler and front end."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from typing import Any

from draftgate.engine.records import StageSteps
from draftgate.engine.stages.clock import cuda_clock, host_clock
from draftgate.engine.stages.load import load_of
from draftgate.engine.stages.timeline import Timeline

_RUNNER_SCOPES = {
    "gpu_model_runner: preprocess": "prepare",
    "gpu_model_runner: forward": "forward",
    "gpu_model_runner: postprocess": "logits",
    "gpu_model_runner: sample": "sample",
    "gpu_model_runner: draft": "draft",
    "gpu_model_runner: bookkeep": "bookkeep",
}
_HOST_SCOPES = {
    "llm_engine step: get_output": "engine_core",
    "llm_engine step: process_outputs": "outputs",
}
_ELSEWHERE = nullcontext()
_ATTRIBUTE = "_draftgate_stage_timer"


@dataclass(frozen=True)
class HostParts:
    """Objects of the engine that share the worker's process."""

    engine: Any
    scheduler: Any


class StageTimer:
    """Times the steps of one worker from ``start`` to ``stop``, and leaves vLLM as it was."""

    def __init__(self, worker: Any, host: HostParts | None) -> None:
        self._runner = worker.model_runner
        self._host = host
        on_host = self._runner.device.type == "cpu"
        self._named = on_host and host is not None
        self._timeline = Timeline(
            host_clock() if on_host else cuda_clock(), host_scopes=self._named
        )
        self._undo = ExitStack()

    def start(self) -> None:
        """Put the scopes in; raises AttributeError where this vLLM lacks one of their places."""
        try:
            self._scope_runner()
            if self._named and self._host is not None:
                self._wrap(self._host.scheduler, "schedule", "schedule")
                self._wrap(self._host.scheduler, "update_from_output", "update")
                self._wrap(self._host.engine, "add_request", "add_request")
        except BaseException:
            self._undo.close()
            raise

    def stop(self) -> StageSteps | None:
        """Take the scopes out; the steps' times, None where no step ran."""
        self._undo.close()
        return self._timeline.end()

    def _scope_runner(self) -> None:
        if hasattr(self._runner, "speculator"):
            self._scope_v2()
        else:
            self._use_vllm_scopes()
        self._begin_steps()

    def _use_vllm_scopes(self) -> None:
        """V1: the runner's own `record_function_or_nullcontext` scopes."""
        from vllm.v1 import utils

        names = _RUNNER_SCOPES | (_HOST_SCOPES if self._named else {})
        scopes = {theirs: self._timeline.scope(ours) for theirs, ours in names.items()}
        self._replace(utils, "_PROFILER_FUNC", lambda name: scopes.get(name, _ELSEWHERE))

    def _scope_v2(self) -> None:
        """V2 has no scopes of its own: its parts are wrapped, the innermost counts.

        The forward pass is what the runner does between two calls of its own, since CUDA graphs
        are replayed in several ways.
        """
        from vllm.v1 import utils

        scopes = {theirs: self._timeline.scope(ours) for theirs, ours in _HOST_SCOPES.items()}
        if self._named:
            self._replace(utils, "_PROFILER_FUNC", lambda name: scopes.get(name, _ELSEWHERE))
        self._wrap(self._runner, "execute_model", "prepare")
        self._wrap(self._runner, "sample_tokens", "bookkeep")
        self._wrap(self._runner, "sample", "sample")
        self._wrap(self._runner.model, "compute_logits", "logits")
        if self._runner.speculator is not None:
            self._wrap(self._runner.speculator, "propose", "draft")
        forward = self._timeline.scope("forward")
        self._call_after(self._runner.step_timing, "forward_start", forward.__enter__)
        self._call_before(
            self._runner.kv_connector, "finish_forward", lambda: forward.__exit__(None, None, None)
        )

    def _begin_steps(self) -> None:
        run = self._runner.execute_model

        @functools.wraps(run)
        def execute_model(scheduled: Any, *args: Any, **kwargs: Any) -> Any:
            if scheduled.total_num_scheduled_tokens:
                self._timeline.begin_step(load_of(scheduled))
            return run(scheduled, *args, **kwargs)

        self._replace(self._runner, "execute_model", execute_model)

    def _wrap(self, owner: Any, name: str, scope_name: str) -> None:
        self._within(owner, name, self._timeline.scope(scope_name))

    def _within(self, owner: Any, name: str, scope: AbstractContextManager[None]) -> None:
        call = getattr(owner, name)

        @functools.wraps(call)
        def scoped(*args: Any, **kwargs: Any) -> Any:
            with scope:
                return call(*args, **kwargs)

        self._replace(owner, name, scoped)

    def _call_after(self, owner: Any, name: str, action: Callable[[], Any]) -> None:
        call = getattr(owner, name)

        def both(*args: Any, **kwargs: Any) -> Any:
            result = call(*args, **kwargs)
            action()
            return result

        self._replace(owner, name, both)

    def _call_before(self, owner: Any, name: str, action: Callable[[], Any]) -> None:
        call = getattr(owner, name)

        def both(*args: Any, **kwargs: Any) -> Any:
            action()
            return call(*args, **kwargs)

        self._replace(owner, name, both)

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute until `stop`; one that the class provides is uncovered again."""
        if name in vars(owner):
            self._undo.callback(setattr, owner, name, getattr(owner, name))
        else:
            getattr(owner, name)  # a missing place is an error now
            self._undo.callback(delattr, owner, name)
        setattr(owner, name, value)


def start_in_worker(worker: Any, host: HostParts | None = None) -> None:
    """For `LLM.collective_rpc`: start the worker's timer."""
    timer = StageTimer(worker, host)
    timer.start()
    setattr(worker.model_runner, _ATTRIBUTE, timer)


def stop_in_worker(worker: Any) -> StageSteps | None:
    """For `LLM.collective_rpc`: stop the worker's timer and hand over what it saw."""
    timer: StageTimer = getattr(worker.model_runner, _ATTRIBUTE)
    delattr(worker.model_runner, _ATTRIBUTE)
    return timer.stop()
