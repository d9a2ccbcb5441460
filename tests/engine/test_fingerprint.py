from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftgate.engine.fingerprint import (
    cpu_fingerprint,
    fingerprint,
    gpu_fingerprint,
    provenance,
)
from draftgate.engine.gpu import Gpus, parse_gpus
from draftgate.engine.hardware import Cpu, isa_class, parse_cpuinfo, parse_memory_gib

CPUINFO = """\
processor	: 0
cpu family	: 25
model		: 97
model name	: AMD Ryzen 9 7950X 16-Core Processor
physical id	: 0
core id		: 0
flags		: fpu sse2 avx2 avx512f

processor	: 1
cpu family	: 25
model		: 97
model name	: AMD Ryzen 9 7950X 16-Core Processor
physical id	: 0
core id		: 0
flags		: fpu sse2 avx2 avx512f

processor	: 2
cpu family	: 25
model		: 97
model name	: AMD Ryzen 9 7950X 16-Core Processor
physical id	: 0
core id		: 1
flags		: fpu sse2 avx2 avx512f
"""

H100 = "NVIDIA H100 80GB HBM3, Disabled, 700.00, 570.86.15, 9.0, 81559\n"
HEADER = "| NVIDIA-SMI 570.86.15   Driver Version: 570.86.15   CUDA Version: 12.8     |"
NEWER_HEADER = "| NVIDIA-SMI 595.10   KMD Version: 595.10   CUDA UMD Version: 13.2   |"


def cpu(*flags: str, machine: str = "x86_64") -> Cpu:
    return Cpu(machine=machine, model="x", generation="", cores=1, flags=frozenset(flags))


def test_cpuinfo_counts_physical_cores() -> None:
    found = parse_cpuinfo(CPUINFO, "x86_64")
    assert (found.cores, found.generation) == (2, "25.97")
    assert found.model == "AMD Ryzen 9 7950X 16-Core Processor"
    assert "avx512f" in found.flags


def test_an_arm_cpuinfo_without_names() -> None:
    found = parse_cpuinfo("processor\t: 0\nFeatures\t: fp asimd\n\nprocessor\t: 1\n", "aarch64")
    assert (found.model, found.cores, found.flags) == ("unknown", 2, frozenset({"fp", "asimd"}))


def test_memory_is_rounded() -> None:
    assert parse_memory_gib("MemFree: 1 kB\nMemTotal:       24576000 kB\n") == 23
    assert parse_memory_gib("") == 0


@pytest.mark.parametrize(
    ("machine", "pinned", "expected"),
    [
        (cpu("avx2"), True, "x86-avx2-fp32"),
        (cpu("avx2", "avx512f", "amx_tile"), True, "x86-avx2-fp32"),
        (cpu("avx2", "avx512f", "amx_tile"), False, "x86-amx-fp32"),
        (cpu("avx2", "avx512f"), False, "x86-avx512-fp32"),
        (cpu("sse2"), True, "x86-sse-fp32"),
        (cpu("asimd", machine="aarch64"), True, "aarch64-fp32"),
    ],
)
def test_isa_class(machine: Cpu, pinned: bool, expected: str) -> None:
    assert isa_class(machine, "float32", pinned=pinned) == expected


def test_cpu_key_and_fields() -> None:
    found = cpu_fingerprint(parse_cpuinfo(CPUINFO, "x86_64"), 64, dtype="float32", pinned=True)
    assert found.key == "cpu-amd-ryzen-9-7950x-16-core-25.97-2c-64gib"
    assert found.fields["cores"] == 2


@given(st.text(max_size=60), st.integers(1, 512))
def test_a_key_is_fit_for_a_folder(model: str, cores: int) -> None:
    machine = Cpu(machine="x86_64", model=model, generation="6.1", cores=cores, flags=frozenset())
    key = cpu_fingerprint(machine, 8, dtype="float32", pinned=True).key
    assert re.fullmatch(r"[a-z0-9.-]+", key)


def test_gpus() -> None:
    assert parse_gpus(H100 * 4, HEADER) == Gpus(
        model="H100 80GB HBM3",
        count=4,
        mig=False,
        power_limit_w=700,
        driver_major=570,
        cuda_major=12,
        capability="9.0",
        memory_gib=80,
    )


@pytest.mark.parametrize(
    ("visible", "count"), [(None, 4), ("0", 1), ("2,3", 2), ("GPU-a,GPU-b", 2)]
)
def test_visible_devices(visible: str | None, count: int) -> None:
    found = parse_gpus(H100 * 4, HEADER, visible)
    assert found is not None
    assert found.count == count


def test_no_gpu() -> None:
    assert parse_gpus("", "") is None
    assert parse_gpus("No devices were found\n", "") is None
    assert parse_gpus(H100, HEADER, visible="") is None


def test_what_the_driver_does_not_tell() -> None:
    row = "NVIDIA A10, [N/A], [Not Supported], 595.10, 8.6, 23028\n"
    found = parse_gpus(row, NEWER_HEADER)
    assert found is not None
    assert (found.mig, found.power_limit_w, found.cuda_major) == (False, None, 13)


def test_different_gpus_have_no_fingerprint() -> None:
    other = H100.replace("H100 80GB HBM3", "A100-SXM4-80GB")
    with pytest.raises(ValueError, match="CUDA_VISIBLE_DEVICES"):
        parse_gpus(H100 + other, HEADER)
    assert parse_gpus(H100 + other, HEADER, visible="1") is not None


def test_gpu_key() -> None:
    found = parse_gpus(H100 * 4, HEADER)
    assert found is not None
    named = gpu_fingerprint(found, dtype="bfloat16")
    assert named.key == "h100-80gb-hbm3-x4-700w-driver570-cuda12"
    assert named.isa_class == "sm90-bf16"
    assert named.fields["gpu"] == "H100 80GB HBM3"


def test_this_machine() -> None:
    assert fingerprint() == fingerprint()


def test_provenance_without_a_repository(tmp_path: Path) -> None:
    found = provenance(tmp_path)
    assert (found.commit, found.dirty) == (None, None)
    assert found.python
