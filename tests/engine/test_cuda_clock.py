"""The CUDA clock on events that stand in for the device's: no GPU runs these tests."""

from __future__ import annotations

import sys
import types
from types import SimpleNamespace

import pytest

from draftgate.engine.stages.clock import cuda_clock
from draftgate.engine.stages.timer import HostParts, StageTimer


class Device:
    """A stream that is 5 ms behind the host; only after `synchronize` are times known."""

    def __init__(self) -> None:
        self.host_ms = 0.0
        self.synchronised = False
        device = self

        class Event:
            def __init__(self, enable_timing: bool) -> None:
                assert enable_timing
                self.at = None

            def record(self) -> None:
                self.at = device.host_ms + 5.0

            def synchronize(self) -> None:
                device.synchronised = True

            def elapsed_time(self, later: Event) -> float:
                assert device.synchronised
                return later.at - self.at

        self.torch = types.ModuleType("torch")
        self.torch.cuda = SimpleNamespace(Event=Event)


@pytest.fixture
def device(monkeypatch) -> Device:
    found = Device()
    monkeypatch.setitem(sys.modules, "torch", found.torch)
    return found


def test_times_are_read_from_the_device_after_the_round(device):
    clock = cuda_clock()
    marks = []
    for ms in (0.0, 2.0, 3.5):
        device.host_ms = ms
        marks.append(clock.mark())
    assert clock.name == "cuda_event"
    assert clock.deltas_ms(marks) == [2.0, 1.5]
    assert clock.deltas_ms([]) == []


def test_on_a_device_the_runner_alone_is_marked_and_the_rest_is_overhead(device, monkeypatch):
    utils = types.ModuleType("vllm.v1.utils")
    utils._PROFILER_FUNC = None
    monkeypatch.setitem(sys.modules, "vllm", types.ModuleType("vllm"))
    monkeypatch.setitem(sys.modules, "vllm.v1", types.ModuleType("vllm.v1"))
    monkeypatch.setitem(sys.modules, "vllm.v1.utils", utils)
    sys.modules["vllm.v1"].utils = utils

    def execute_model(step):
        device.host_ms += 1
        with utils._PROFILER_FUNC("gpu_model_runner: forward"):
            device.host_ms += 6
        with utils._PROFILER_FUNC("llm_engine step: process_outputs"):
            device.host_ms += 3

    runner = SimpleNamespace(device=SimpleNamespace(type="cuda"), execute_model=execute_model)
    scheduler = SimpleNamespace(schedule=None, update_from_output=None)
    timer = StageTimer(SimpleNamespace(model_runner=runner), HostParts(None, scheduler))
    timer.start()
    runner.execute_model(
        SimpleNamespace(
            scheduled_new_reqs=[],
            scheduled_cached_reqs=SimpleNamespace(num_computed_tokens=[7]),
            num_scheduled_tokens={"a": 1},
            total_num_scheduled_tokens=1,
            scheduled_spec_decode_tokens={},
        )
    )
    steps = timer.stop()
    assert scheduler.schedule is None  # untouched
    assert steps.clock == "cuda_event"
    assert (steps.verify_ms, steps.overhead_ms, steps.step_ms) == ((6.0,), (4.0,), (10.0,))
