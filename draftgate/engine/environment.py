"""The environment an engine child starts with; a pure function of what it is given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import draftgate
from draftgate.engine.models import all_local
from draftgate.engine.placement import Placement
from draftgate.engine.spec import EngineSpec

# Milliseconds an OpenMP thread spins after a parallel region before it sleeps: it must bridge the
# gaps inside a step. With 0 a decode step of the tiny family takes 1.3 to 1.7 times as long; 1, 5
# and 200 (OpenMP's default) are alike. vLLM's own choice for its CPU workers is 5.
BLOCKTIME_MS = 5

# Memory in huge pages where the kernel gives them on request. With small ones an engine's speed
# hangs on which pages it got: of six equal engines started one after another the first was 10 to
# 20 % slower than their mean and the last 8 to 12 % faster, try after try; with these 4 to 7 % and
# 2 %.
HUGE_PAGES = "glibc.malloc.hugetlb=1"

# The instruction set for exact metrics: libraries otherwise pick the machine's best, and with it
# another order of summation (the last bits of log-probabilities then differ; so they do between
# one thread and two). vLLM's own kernels are chosen in `draftgate.engine.compat`.
ISA_PIN = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "DNNL_MAX_CPU_ISA": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_CBWR": "AVX2,STRICT",
}

_ALWAYS = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # the engine core in the child itself
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOG_STATS_INTERVAL": "86400",  # no log lines inside a timed round
    "VLLM_LOGGING_COLOR": "0",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONHASHSEED": "0",
    "PYTHONUNBUFFERED": "1",  # the log's last lines matter most when the child is killed
}


def child_path(base: Mapping[str, str]) -> dict[str, str]:
    """The setting that lets a child of any interpreter import this draftgate.

    Empty where it is installed rather than run from a checkout: the folder would bring this
    environment's vLLM along.
    """
    root = Path(draftgate.__file__).resolve().parent.parent
    if root.name == "site-packages":
        return {}
    return {"PYTHONPATH": _prepend(str(root), base.get("PYTHONPATH"))}


def child_environment(
    base: Mapping[str, str],
    spec: EngineSpec,
    *,
    placement: Placement | None,
    openmp: Path | None,
    blocktime_ms: int = BLOCKTIME_MS,
) -> dict[str, str]:
    """Environment of the child that runs ``spec``.

    ``base`` is the host's own. ``placement`` is None for GPU engines, which get none of the CPU
    settings. ``openmp``: library to preload, or None.
    """
    env = {**base, **_ALWAYS, **child_path(base)}
    if all_local(spec):
        env |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    if spec.runner is not None:
        env["VLLM_USE_V2_MODEL_RUNNER"] = "1" if spec.runner == "v2" else "0"
    if placement is not None:
        env.pop("VLLM_CPU_KVCACHE_SPACE", None)  # would overrule the spec's size
        env |= _thread_settings(placement, blocktime_ms)
        env |= {
            "THP_MEM_ALLOC_ENABLE": "1",  # torch's own switch
            "GLIBC_TUNABLES": _prepend(HUGE_PAGES, base.get("GLIBC_TUNABLES")),
        }
        if openmp is not None:
            env["LD_PRELOAD"] = _prepend(str(openmp), base.get("LD_PRELOAD"))
        if spec.pin_isa:
            env |= ISA_PIN
    return env


def _thread_settings(placement: Placement, blocktime_ms: int) -> dict[str, str]:
    cores = ",".join(map(str, placement.cores))
    return {
        "OMP_NUM_THREADS": str(placement.threads),
        "MKL_NUM_THREADS": str(placement.threads),
        # Numba, in vLLM's n-gram proposer, counts the cores its thread is bound to, finds one and
        # sets OpenMP to that number for the whole process.
        "NUMBA_NUM_THREADS": str(placement.threads),
        "OMP_DYNAMIC": "FALSE",
        "MKL_DYNAMIC": "FALSE",
        "KMP_AFFINITY": f"granularity=fine,explicit,proclist=[{cores}]",
        "KMP_BLOCKTIME": str(blocktime_ms),
        "KMP_TPAUSE": "0",
    }


def _prepend(first: str, rest: str | None) -> str:
    return f"{first}:{rest}" if rest and first not in rest.split(":") else rest or first
