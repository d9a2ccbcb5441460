"""What a worker holds: KV cache and weights, counted from the tensors themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import psutil

from draftgate.engine.records import EngineMemory


def measure_in_worker(worker: Any) -> EngineMemory:
    """For `LLM.collective_rpc`: memory of one worker, once its engine stands."""
    runner = worker.model_runner
    config = runner.kv_cache_config
    caches = list(_cache_tensors(runner, config))
    return EngineMemory(
        kv_cache_bytes=_storage_bytes(caches),
        kv_blocks=config.num_blocks,
        block_size=config.kv_cache_groups[0].kv_cache_spec.block_size,
        kv_cache_dtype=str(caches[0].dtype).removeprefix("torch."),
        weight_bytes=_weight_bytes(runner),
        rss_bytes=psutil.Process().memory_info().rss,
        device_bytes=_device_bytes(runner.device),
    )


def _cache_tensors(runner: Any, config: Any) -> Iterator[Any]:
    layers = runner.vllm_config.compilation_config.static_forward_context
    for group in config.kv_cache_groups:
        for name in group.layer_names:
            cache = layers[name].kv_cache
            yield from cache if isinstance(cache, list | tuple) else (cache,)


def _weight_bytes(runner: Any) -> int | None:
    if runner.device.type == "cpu":
        return None  # kernels hold the weights in a form of their own, and the tensors are emptied
    return _storage_bytes(_parameters(runner))


def _parameters(runner: Any) -> Iterator[Any]:
    drafter = getattr(runner, "drafter", None) or getattr(runner, "speculator", None)
    models: tuple[Any, ...] = (runner.model, getattr(drafter, "model", None))
    for model in models:
        if hasattr(model, "parameters"):
            yield from model.parameters()


def _storage_bytes(tensors: Iterable[Any]) -> int:
    """Bytes behind the tensors; what several share counts once."""
    storages = {}
    for tensor in tensors:
        storage = tensor.untyped_storage()
        storages[storage.data_ptr()] = storage.nbytes()
    return sum(storages.values())


def _device_bytes(device: Any) -> int | None:
    if device.type != "cuda":
        return None
    import torch

    return int(torch.cuda.memory_allocated(device))
