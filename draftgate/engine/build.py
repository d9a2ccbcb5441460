"""Building the engine in the child: cores and cheap checks first, then kernels and vLLM."""

from __future__ import annotations

import os
import platform
import time
from importlib import metadata
from typing import TYPE_CHECKING

from draftgate.engine.fingerprint import fingerprint
from draftgate.engine.memory import measure_in_worker
from draftgate.engine.models import check_vocabularies, resolve_models
from draftgate.engine.placement import Placement
from draftgate.engine.planting import plant, planted_spec
from draftgate.engine.protocol import EngineInfo
from draftgate.engine.spec import EngineSpec

if TYPE_CHECKING:
    from draftgate.engine.compat import VllmEngine


def build_engine(
    spec: EngineSpec, placement: Placement | None, born: float
) -> tuple[VllmEngine, EngineInfo]:
    """Engine and what it turned out to be.

    ``placement`` is None for GPU engines; ``born``: `time.monotonic` of the child's first line.

    Raises:
        SpecError: a missing checkpoint, a foreign vocabulary, an unknown hook.
        Exception: whatever vLLM raises.
    """
    if placement is not None:
        os.sched_setaffinity(0, placement.cores)
    spec = resolve_models(spec)
    check_vocabularies(spec)
    pinned = placement is not None and spec.pin_isa

    from draftgate.engine import compat

    if pinned:
        compat.pin_kernels_to_avx2()
    for hook in spec.hooks:
        hook.run()
    with planted_spec(spec) as spec:
        engine = compat.VllmEngine(spec)
    plant(engine, spec.fault)
    return engine, _describe(engine, spec, placement, pinned, born)


def _describe(
    engine: VllmEngine, spec: EngineSpec, placement: Placement | None, pinned: bool, born: float
) -> EngineInfo:
    from draftgate.engine import compat

    cores = placement.cores if placement is not None else tuple(sorted(os.sched_getaffinity(0)))
    return EngineInfo(
        vllm=compat.vllm_version(),
        torch=metadata.version("torch"),
        python=platform.python_version(),
        platform=engine.platform,
        runner=engine.runner,
        kernels=compat.loaded_kernels(),
        isa_class=fingerprint(dtype=engine.dtype, pinned=pinned).isa_class,
        dtype=engine.dtype,
        max_model_len=engine.max_model_len,
        max_num_seqs=spec.max_num_seqs,
        kv_cache_tokens=engine.kv_cache_tokens,
        k=spec.k,
        has_chat_template=engine.has_chat_template,
        cores=cores,
        threads=compat.compute_threads(),
        startup_s=time.monotonic() - born,
        memory=engine.on_first_worker(measure_in_worker),
    )
