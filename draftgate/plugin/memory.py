"""The engine's measured memory beside what the models' configs say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from draftgate.analysis.memory import DTYPE_BYTES, Footprint, MemoryModelError, footprint
from draftgate.engine.models import read_config
from draftgate.verdict.exact import judge_exact
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.manifest import KV_BYTES
from draftgate.verdict.verdict import Verdict

if TYPE_CHECKING:
    from draftgate.engine.records import EngineMemory
    from draftgate.profile.cells import Cell, Scenario
    from draftgate.profile.model import Variant


def judge_memory(cell: Cell, memory: EngineMemory | None) -> Verdict:
    """Compare cache bytes a token with ``==``; where the models are not known here, say so."""
    try:
        if memory is None:
            raise MemoryModelError("the engine did not report its memory")
        expected = expected_footprint(cell.scenario, memory.kv_cache_dtype)
        weights = _weights(expected, memory)
    except MemoryModelError as error:
        value = None if memory is None else memory.kv_bytes_per_token
        why = f"not compared: {error}"
        return Verdict(cell.id, KV_BYTES, VerdictKind.OK, value, unit="B", cause=why)
    counts = {"target and draft": (expected.kv_bytes_per_token, memory.kv_bytes_per_token)}
    return judge_exact(
        cell.id,
        KV_BYTES,
        memory.kv_bytes_per_token,
        expected.kv_bytes_per_token,
        counts=counts,
        higher_is_better=None,
        unit="B",
        cause=(
            f"by config.json: target {expected.kv_target} B, draft {expected.kv_draft} B; {weights}"
        ),
    )


def expected_footprint(scenario: Scenario, kv_dtype: str) -> Footprint:
    """Memory of a scenario's models by their configs; raises MemoryModelError.

    Weights are counted in the target's type, in that of the cache where it is the checkpoint's.
    """
    target, variant = scenario.target, scenario.variant
    return footprint(
        _config(target.model, target.revision),
        variant.method,
        _draft_config(variant),
        target.dtype if target.dtype in DTYPE_BYTES else kv_dtype,
        kv_dtype=kv_dtype,
        tensor_parallel_size=target.tensor_parallel_size,
    )


def _weights(expected: Footprint, memory: EngineMemory) -> str:
    """Told, not judged: kernels pad, fuse and repack weights."""
    by_config = (
        f"weights of target and draft {expected.weights_target} and {expected.weights_draft} B"
    )
    if memory.weight_bytes is None:
        return by_config
    return f"{by_config}, the engine holds {memory.weight_bytes} B"


def _draft_config(variant: Variant) -> dict[str, Any] | None:
    """Config of the proposer's checkpoint; of a custom class, ``model`` is no checkpoint."""
    config: dict[str, Any] = variant.speculative_config or {}
    model = config.get("model")
    if not isinstance(model, str) or variant.method == "custom_class":
        return None
    return _config(model, config.get("revision"))


def _config(model: str, revision: str | None) -> dict[str, Any]:
    found = read_config(model, revision)
    if found is None:
        raise MemoryModelError(f"no config.json of {model} at hand")
    return found
