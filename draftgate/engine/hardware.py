"""What the CPU is: read from /proc, parsed by pure functions."""

from __future__ import annotations

import platform
from pathlib import Path

from draftgate.engine.records import Record

_DTYPES = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
_X86_LEVELS = (("amx", "amx_tile"), ("avx512", "avx512f"), ("avx2", "avx2"))


class Cpu(Record):
    """``cores``: physical ones, as far as the machine tells. ``model``: the marketing name;
    ``generation``: family and model numbers, since virtual machines hide the name (may be empty).
    """

    machine: str
    model: str
    generation: str
    cores: int
    flags: frozenset[str]


def parse_cpuinfo(text: str, machine: str) -> Cpu:
    """CPU described by /proc/cpuinfo's ``text``; ``machine`` as `platform.machine` names it."""
    blocks = [_fields(block) for block in text.split("\n\n") if block.strip()]
    processors = [block for block in blocks if "processor" in block]
    first = processors[0] if processors else {}
    cores = {
        (block.get("physical id", "0"), block.get("core id", block["processor"]))
        for block in processors
    }
    numbers = [first[key] for key in ("cpu family", "model") if key in first]
    return Cpu(
        machine=machine,
        model=first.get("model name", "unknown"),
        generation=".".join(numbers),
        cores=len(cores),
        flags=frozenset((first.get("flags") or first.get("Features") or "").split()),
    )


def parse_memory_gib(meminfo: str) -> int:
    """Installed memory of /proc/meminfo's text, GiB, rounded; 0 where it is not told."""
    for line in meminfo.splitlines():
        if line.startswith("MemTotal:"):
            return round(int(line.split()[1]) / (1 << 20))
    return 0


def short_dtype(dtype: str) -> str:
    """Abbreviation of a data type's name, such as ``fp32``."""
    return _DTYPES.get(dtype, dtype)


def isa_class(cpu: Cpu, dtype: str, *, pinned: bool) -> str:
    """Class of machines on which exact metrics agree, such as ``x86-avx2-fp32``.

    ``pinned``: engines keep to AVX2 whatever the CPU offers.
    """
    short = short_dtype(dtype)
    if cpu.machine not in ("x86_64", "AMD64"):
        return f"{cpu.machine}-{short}"
    levels = [name for name, flag in _X86_LEVELS if flag in cpu.flags]
    level = "avx2" if pinned and "avx2" in levels else (levels or ["sse"])[0]
    return f"x86-{level}-{short}"


def read_cpu() -> Cpu:
    """This machine's CPU."""
    return parse_cpuinfo(_read("/proc/cpuinfo"), platform.machine())


def read_memory_gib() -> int:
    """This machine's memory, GiB."""
    return parse_memory_gib(_read("/proc/meminfo"))


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def _fields(block: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in block.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}
