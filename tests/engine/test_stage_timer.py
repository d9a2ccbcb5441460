"""The timer on runners of both kinds, built by hand after vLLM's; no vLLM needed for V2."""

from __future__ import annotations

import sys
import types
from types import SimpleNamespace

import pytest

from draftgate.engine.stages.load import load_of
from draftgate.engine.stages.timer import HostParts, StageTimer, start_in_worker, stop_in_worker


def scheduled(new=(), cached=(), drafts=None):
    """``new``: (id, tokens, already cached); ``cached``: (id, tokens, in the cache)."""
    tokens = {name: count for name, count, _ in (*new, *cached)}
    return SimpleNamespace(
        scheduled_new_reqs=[
            SimpleNamespace(req_id=name, num_computed_tokens=kv) for name, _, kv in new
        ],
        scheduled_cached_reqs=SimpleNamespace(num_computed_tokens=[kv for _, _, kv in cached]),
        num_scheduled_tokens=tokens,
        total_num_scheduled_tokens=sum(tokens.values()),
        scheduled_spec_decode_tokens=drafts or {},
    )


def test_the_load_of_a_step_that_reads_decodes_and_verifies():
    step = scheduled(
        new=[("a", 12, 0)],
        cached=[("b", 4, 30), ("c", 1, 20), ("d", 7, 40)],
        drafts={"b": [1, 2, 3]},
    )
    load = load_of(step)
    assert load.requests == 4
    assert load.batched_tokens == 24
    assert load.prefill_tokens == 12 + 7  # d goes on with its prompt
    assert load.kv_tokens == 90
    assert load.drafted_tokens == 3


class Scheduler:
    def schedule(self):
        return None

    def update_from_output(self):
        return None


class Engine:
    def add_request(self):
        return None


class V2Runner:
    """The calls of vLLM's V2 runner that the timer relies on, in their order."""

    def __init__(self):
        self.device = SimpleNamespace(type="cpu")
        self.model = Model()
        self.speculator = Speculator()
        self.step_timing = StepTiming()
        self.kv_connector = Connector()

    def execute_model(self, step):
        if step.total_num_scheduled_tokens == 0:
            return
        self.step_timing.forward_start()
        self.kv_connector.finish_forward()

    def sample_tokens(self):
        self.sample()
        self.speculator.propose()

    def sample(self):
        self.model.compute_logits()


class Model:
    def compute_logits(self):
        return None


class Speculator:
    def propose(self):
        return None


class StepTiming:
    def forward_start(self):
        return None


class Connector:
    def finish_forward(self):
        return None


@pytest.fixture
def vllm_utils(monkeypatch):
    """Stands in for `vllm.v1.utils`, which takes seconds to import."""
    modules = {name: types.ModuleType(name) for name in ("vllm", "vllm.v1", "vllm.v1.utils")}
    utils = modules["vllm.v1.utils"]
    utils._PROFILER_FUNC = None
    modules["vllm"].v1 = modules["vllm.v1"]
    modules["vllm.v1"].utils = utils
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return utils


@pytest.fixture
def host():
    return HostParts(Engine(), Scheduler())


def test_every_scope_of_the_v2_runner_is_seen_and_taken_out_again(vllm_utils, host):
    runner = V2Runner()
    worker = SimpleNamespace(model_runner=runner)
    start_in_worker(worker, host)
    for _ in range(2):
        host.scheduler.schedule()
        runner.execute_model(scheduled(cached=[("a", 4, 9)], drafts={"a": [1, 2, 3]}))
        runner.sample_tokens()
        host.scheduler.update_from_output()
    runner.execute_model(scheduled())  # an empty step belongs to the one before
    steps = stop_in_worker(worker)
    assert steps.kv_tokens == (9, 9)
    assert steps.scopes_ms.keys() == {
        "prepare",
        "forward",
        "logits",
        "sample",
        "draft",
        "bookkeep",
        "schedule",
        "update",
        "unattributed",
    }
    assert vllm_utils._PROFILER_FUNC is None
    for part in (runner.model, runner.speculator, runner.step_timing, host.scheduler, host.engine):
        assert vars(part) == {}
    assert "execute_model" not in vars(runner)


def test_a_v2_runner_without_a_speculator_drafts_nothing(vllm_utils, host):
    runner = V2Runner()
    runner.speculator = None
    timer = StageTimer(SimpleNamespace(model_runner=runner), host)
    timer.start()
    runner.execute_model(scheduled(cached=[("a", 1, 9)]))
    assert timer.stop().draft_ms == (0.0,)


def test_the_v1_runner_s_own_scopes_are_used_and_others_cost_nothing(vllm_utils, host):
    runner = SimpleNamespace(
        device=SimpleNamespace(type="cpu"), execute_model=lambda step: "output"
    )
    run = runner.execute_model
    timer = StageTimer(SimpleNamespace(model_runner=runner), host)
    timer.start()
    scope = vllm_utils._PROFILER_FUNC
    assert runner.execute_model(scheduled(new=[("a", 5, 0)])) == "output"
    for name in ("gpu_model_runner: forward", "llm_engine step: get_output", "unknown"):
        with scope(name):
            pass
    steps = timer.stop()
    assert steps.scopes_ms.keys() == {"forward", "engine_core", "unattributed"}
    assert steps.prefill_tokens == (5,)
    assert runner.execute_model is run
    assert vllm_utils._PROFILER_FUNC is None


def test_without_the_scheduler_the_rest_of_a_step_is_overhead(vllm_utils):
    runner = SimpleNamespace(device=SimpleNamespace(type="cpu"), execute_model=lambda step: None)
    timer = StageTimer(SimpleNamespace(model_runner=runner), None)
    timer.start()
    runner.execute_model(scheduled(new=[("a", 5, 0)]))
    steps = timer.stop()
    assert steps.overhead_ms == steps.step_ms


def test_a_runner_that_lacks_a_place_is_left_untouched(vllm_utils, host):
    runner = V2Runner()
    runner.model = SimpleNamespace()
    with pytest.raises(AttributeError, match="compute_logits"):
        StageTimer(SimpleNamespace(model_runner=runner), host).start()
    assert "execute_model" not in vars(runner)
    assert vllm_utils._PROFILER_FUNC is None
