from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from draftgate.engine.spec import GIB, EngineSpec, llm_arguments

NGRAM = {"method": "ngram", "num_speculative_tokens": 3}


class Target(BaseModel):
    name: str = "tiny"
    model: str = "/models/tiny"
    dtype: str = "float32"
    max_model_len: int = 512
    engine_args: dict[str, Any] = {"max_num_seqs": 8, "block_size": 32}


def arguments(
    spec: EngineSpec, on_cpu: bool = True, request_metrics: bool = True
) -> dict[str, Any]:
    return llm_arguments(spec, on_cpu=on_cpu, request_metrics=request_metrics)


def test_from_target_takes_its_fields_and_lifts_engine_args() -> None:
    spec = EngineSpec.from_target(Target(), NGRAM, max_num_seqs=16, seed=7)
    assert spec == EngineSpec(
        model="/models/tiny",
        dtype="float32",
        max_model_len=512,
        max_num_seqs=8,
        speculative_config=NGRAM,
        engine_args={"block_size": 32},
        seed=7,
    )
    assert spec.k == 3


def test_engine_args_cannot_repeat_a_field() -> None:
    with pytest.raises(ValidationError, match="engine_args repeats seed"):
        EngineSpec(model="m", engine_args={"seed": 1})


def test_engine_args_of_a_user_may_name_fields() -> None:
    spec = EngineSpec.lifting(
        {"model": "m", "engine_args": {"tensor_parallel_size": 4, "block_size": 32}}
    )
    assert (spec.tensor_parallel_size, spec.engine_args) == (4, {"block_size": 32})


def test_engines_share_a_gpus_memory_unless_the_profile_says_how() -> None:
    spec = EngineSpec(model="m", gpu_memory_share=0.45)
    assert arguments(spec, on_cpu=False)["gpu_memory_utilization"] == 0.45
    assert "gpu_memory_utilization" not in arguments(spec)
    own = spec.model_copy(update={"engine_args": {"gpu_memory_utilization": 0.3}})
    assert arguments(own, on_cpu=False)["gpu_memory_utilization"] == 0.3


def test_both_arms_keep_statistics_and_no_prefix_cache() -> None:
    control, sd = EngineSpec(model="m"), EngineSpec(model="m", speculative_config=NGRAM)
    for spec in (control, sd):
        assert arguments(spec)["disable_log_stats"] is False
        assert arguments(spec)["enable_prefix_caching"] is False
    assert arguments(sd).keys() - arguments(control).keys() == {
        "speculative_config",
        "per_request_spec_decode_metrics",
    }


def test_a_vllm_without_request_metrics_is_not_asked_for_them() -> None:
    spec = EngineSpec(model="m", speculative_config=NGRAM)
    assert "per_request_spec_decode_metrics" not in arguments(spec, request_metrics=False)


def test_cpu_engines_take_fractions_of_a_gib() -> None:
    cpu = arguments(EngineSpec(model="m", kv_cache_gib=0.5))
    assert cpu["kv_cache_memory_bytes"] == GIB // 2
    assert cpu["distributed_executor_backend"] == "uni"
    gpu = arguments(EngineSpec(model="m"), on_cpu=False)
    assert not {"kv_cache_memory_bytes", "enforce_eager"} & gpu.keys()


def test_engine_args_win_over_defaults() -> None:
    spec = EngineSpec(model="m", engine_args={"enforce_eager": False, "block_size": 32})
    assert arguments(spec)["enforce_eager"] is False
    assert arguments(spec)["block_size"] == 32
