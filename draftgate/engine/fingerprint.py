"""Naming the machine a number belongs to, and the software that made it.

The key is what must be equal for two timed numbers to be compared and is not under test; versions
of vLLM and torch are provenance, never part of it.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

from draftgate import __version__
from draftgate.engine.gpu import Gpus, read_gpus
from draftgate.engine.hardware import (
    Cpu,
    isa_class,
    read_cpu,
    read_memory_gib,
    short_dtype,
)
from draftgate.engine.interpreter import Interpreter
from draftgate.engine.records import Record

FieldValue = str | int | bool | None
GPU_CLASS = "sm"
"""How the class of exact metrics begins where a GPU computes: such as ``sm90-bf16``."""


def repeats_tokens(isa_class: str) -> bool:
    """Whether equal software writes equal tokens on machines of this class.

    A GPU may sum in another order, and what is equally likely but for the last bit then parts.
    """
    return not isa_class.startswith(GPU_CLASS)


class Fingerprint(Record):
    """``key`` is fit for a folder's name; ``isa_class`` groups machines with equal exact metrics;
    ``fields`` say in full what the key abbreviates.
    """

    key: str
    isa_class: str
    fields: dict[str, FieldValue]


class Provenance(Record):
    """Versions and commit behind a measurement; None where a package or repository is absent.

    ``dirty``: uncommitted changes in the working tree.
    """

    draftgate: str
    vllm: str | None
    torch: str | None
    python: str
    commit: str | None
    dirty: bool | None


def cpu_fingerprint(cpu: Cpu, memory_gib: int, *, dtype: str, pinned: bool) -> Fingerprint:
    """Fingerprint of a machine whose engines compute on the CPU."""
    parts = [_slug(cpu.model), _slug(cpu.generation), f"{cpu.cores}c", f"{memory_gib}gib"]
    return Fingerprint(
        key="-".join(["cpu", *filter(None, parts)]),
        isa_class=isa_class(cpu, dtype, pinned=pinned),
        fields={
            "cpu": cpu.model,
            "generation": cpu.generation,
            "cores": cpu.cores,
            "memory_gib": memory_gib,
        },
    )


def gpu_fingerprint(gpus: Gpus, *, dtype: str) -> Fingerprint:
    """Fingerprint of a machine whose engines compute on GPUs."""
    power = f"{gpus.power_limit_w}w" if gpus.power_limit_w is not None else ""
    cuda = f"cuda{gpus.cuda_major}" if gpus.cuda_major is not None else ""
    parts = [
        _slug(gpus.model),
        f"x{gpus.count}",
        "mig" if gpus.mig else "",
        power,
        f"driver{gpus.driver_major}",
        cuda,
    ]
    return Fingerprint(
        key="-".join(filter(None, parts)),
        isa_class=f"{GPU_CLASS}{gpus.capability.replace('.', '')}-{short_dtype(dtype)}",
        fields={"gpu": gpus.model, **gpus.model_dump(exclude={"model"})},
    )


def fingerprint(*, dtype: str = "float32", pinned: bool = True) -> Fingerprint:
    """This machine's fingerprint; GPUs count where the installed vLLM uses them.

    ``dtype``: of the engines' weights; ``pinned``: CPU engines keep to AVX2.
    """
    gpus = None if Interpreter.this().on_cpu else read_gpus(os.environ)
    if gpus is not None:
        return gpu_fingerprint(gpus, dtype=dtype)
    return cpu_fingerprint(read_cpu(), read_memory_gib(), dtype=dtype, pinned=pinned)


def provenance(repository: Path) -> Provenance:
    """Versions in this interpreter's environment and the commit of ``repository``."""
    installed = Interpreter.this()
    status = _git(repository, "status", "--porcelain", "--untracked-files=no")
    return Provenance(
        draftgate=__version__,
        vllm=installed.vllm,
        torch=installed.packages.get("torch"),
        python=platform.python_version(),
        commit=_git(repository, "rev-parse", "HEAD"),
        dirty=None if status is None else bool(status),
    )


def _slug(text: str) -> str:
    plain = re.sub(r"\(\w+\)|@.*|\b(CPU|Processor)\b", " ", text)
    return re.sub(r"[^a-z0-9.]+", "-", plain.lower()).strip("-")


def _git(repository: Path, *arguments: str) -> str | None:
    try:
        result = subprocess.run(
            ["git", "-C", str(repository), *arguments], capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return result.stdout.strip() if result.returncode == 0 else None
