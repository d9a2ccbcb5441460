"""Planting a `Fault`, in the child: before the engine is built, or in the engine that stands."""

from __future__ import annotations

import copy
import dataclasses
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draftgate.engine.errors import SpecError
from draftgate.engine.fault import Fault
from draftgate.engine.spec import EngineSpec

if TYPE_CHECKING:
    from draftgate.engine.compat import VllmEngine

_SHARED = ("embed_tokens", "lm_head")  # the target's, in checkpoints that repeat them
_NOISE_SEED = 0


@contextmanager
def planted_spec(spec: EngineSpec) -> Iterator[EngineSpec]:
    """The spec to build the engine from; its files are there as long as the context is.

    Raises:
        SpecError: the engine lacks what is to go wrong.
    """
    fault = spec.fault
    if fault is None:
        yield spec
        return
    if not fault.concerns(spec.speculative_config):
        raise SpecError(f"fault {fault.kind}: this engine has nothing of the kind")
    with tempfile.TemporaryDirectory(prefix="draftgate-fault-") as folder:
        yield spec.model_copy(update=_changes(spec, fault, Path(folder)))


def plant(engine: VllmEngine, fault: Fault | None) -> None:
    """Make an engine that stands misbehave."""
    if fault is None:
        return
    print(f"A FAULT IS PLANTED: {fault.kind} {fault.size:g}", flush=True)  # to the engine's log
    if fault.kind == "sleep":
        engine.wrap_steps(lambda step: _prolonged(step, fault.size))
    elif fault.kind == "drafter-twice":
        engine.wrap_proposer(_twice)


def _changes(spec: EngineSpec, fault: Fault, folder: Path) -> dict[str, Any]:
    config = spec.speculative_config or {}
    if fault.kind == "k":
        config = {**config, "num_speculative_tokens": fault.k(spec.k)}
    elif fault.kind == "noisy-head":
        _write_noisy(Path(config["model"]), folder, fault.size)
        config = {**config, "model": str(folder)}
    return {"speculative_config": config or None}


def _write_noisy(checkpoint: Path, folder: Path, size: float) -> None:
    """A copy of ``checkpoint`` with noise on every matrix that is the proposer's own.

    Raises SpecError where the checkpoint is no folder of safetensors.
    """
    import torch
    from safetensors.torch import load_file, save_file

    weights = sorted(checkpoint.glob("*.safetensors"))
    if not weights:
        raise SpecError(f"fault noisy-head: {checkpoint} is no folder with *.safetensors")
    generator = torch.Generator().manual_seed(_NOISE_SEED)

    def noisy(name: str, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim() < 2 or not tensor.is_floating_point() or any(s in name for s in _SHARED):
            return tensor
        values = tensor.float()
        noise = torch.randn(values.shape, generator=generator) * values.std() * size
        return (values + noise).to(tensor.dtype).contiguous()

    for file in checkpoint.iterdir():
        if file not in weights:
            (folder / file.name).symlink_to(file.resolve())
    for file in weights:
        tensors = load_file(file)
        save_file({n: noisy(n, t) for n, t in tensors.items()}, folder / file.name)


def _prolonged(step: Callable[[], Any], share: float) -> Callable[[], Any]:
    """Waits busily: a sleep ends a tenth of a millisecond late, more on a busy machine."""

    def slow_step() -> Any:
        begun = time.perf_counter()
        output = step()
        ended = time.perf_counter()
        until = ended + share * (ended - begun)
        while time.perf_counter() < until:
            pass
        return output

    return slow_step


def _twice(propose: Callable[..., Any]) -> Callable[..., Any]:
    """The first call gets copies of the records that a proposer advances as it drafts."""

    def propose_twice(*args: Any, **kwargs: Any) -> Any:
        propose(*map(_copy, args), **{name: _copy(value) for name, value in kwargs.items()})
        return propose(*args, **kwargs)

    return propose_twice


def _copy(value: Any) -> Any:
    return copy.deepcopy(value) if dataclasses.is_dataclass(value) else value
