from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftgate.engine.environment import HUGE_PAGES, ISA_PIN, child_environment
from draftgate.engine.placement import Placement, place
from draftgate.engine.spec import EngineSpec

SPEC = EngineSpec(model="testbed:llama-tiny")
CORES = Placement(cores=(2, 5))


def environment(
    base: dict[str, str] | None = None,
    spec: EngineSpec = SPEC,
    placement: Placement | None = CORES,
    openmp: Path | None = Path("/venv/lib/libiomp5.so"),
) -> dict[str, str]:
    return child_environment(base or {}, spec, placement=placement, openmp=openmp)


def test_a_cpu_engine_keeps_to_its_cores_and_does_not_spin() -> None:
    env = environment()
    assert env["OMP_NUM_THREADS"] == env["NUMBA_NUM_THREADS"] == "2"
    assert env["KMP_AFFINITY"].endswith("proclist=[2,5]")
    assert int(env["KMP_BLOCKTIME"]) <= 5
    assert env["GLIBC_TUNABLES"] == HUGE_PAGES
    assert env["LD_PRELOAD"] == "/venv/lib/libiomp5.so"
    assert env["VLLM_ENABLE_V1_MULTIPROCESSING"] == "0"


def test_tunables_of_the_user_hold_too() -> None:
    env = environment({"GLIBC_TUNABLES": "glibc.malloc.check=3"})
    assert env["GLIBC_TUNABLES"] == f"{HUGE_PAGES}:glibc.malloc.check=3"


def test_the_instruction_set_is_pinned_unless_asked_otherwise() -> None:
    assert environment().items() >= ISA_PIN.items()
    free = environment(spec=SPEC.model_copy(update={"pin_isa": False}))
    assert not ISA_PIN.keys() & free.keys()


def test_a_gpu_engine_gets_no_cpu_setting() -> None:
    env = environment(placement=None)
    assert not ({*ISA_PIN, "LD_PRELOAD", "OMP_NUM_THREADS", "KMP_BLOCKTIME"} & env.keys())
    assert env["VLLM_ENABLE_V1_MULTIPROCESSING"] == "0"


def test_a_whole_gib_setting_of_the_user_does_not_overrule_the_spec() -> None:
    assert "VLLM_CPU_KVCACHE_SPACE" not in environment({"VLLM_CPU_KVCACHE_SPACE": "40"})


def test_other_preloads_stay() -> None:
    env = environment({"LD_PRELOAD": "/lib/libtcmalloc.so"})
    assert env["LD_PRELOAD"] == "/venv/lib/libiomp5.so:/lib/libtcmalloc.so"
    assert environment(env)["LD_PRELOAD"] == env["LD_PRELOAD"]


@pytest.mark.parametrize(
    ("model", "draft", "offline"),
    [
        ("testbed:llama-tiny", None, True),
        ("testbed:llama-tiny", "testbed:llama-tiny-draft", True),
        ("/models/llama", "/models/draft", True),
        ("meta-llama/Llama-3.1-8B-Instruct", None, False),
        ("/models/llama", "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B", False),
    ],
)
def test_the_hub_is_left_alone_where_everything_is_local(
    model: str, draft: str | None, offline: bool
) -> None:
    config = {"method": "eagle3", "model": draft} if draft else None
    env = environment(spec=EngineSpec(model=model, speculative_config=config))
    assert (env.get("HF_HUB_OFFLINE") == "1") is offline


@given(st.sets(st.integers(0, 63), min_size=1), st.integers(1, 4), st.data())
def test_threads_get_a_physical_core_each(
    cpus: set[int], siblings: int, data: st.DataObject
) -> None:
    physical = {cpu // siblings for cpu in cpus}
    threads = data.draw(st.integers(1, len(physical)))
    placement = place(threads, cpus, core_of=lambda cpu: cpu // siblings)
    assert placement.threads == threads
    assert set(placement.cores) <= cpus
    assert len({cpu // siblings for cpu in placement.cores}) == threads
    assert place(threads, cpus, core_of=lambda cpu: cpu // siblings) == placement


def test_too_many_threads() -> None:
    with pytest.raises(ValueError, match="threads=3, but only 2 physical"):
        place(3, [0, 1, 2, 3], core_of=lambda cpu: cpu // 2)
