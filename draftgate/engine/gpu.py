"""What the GPUs are, from nvidia-smi; the parsers are pure."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping

from draftgate.engine.records import Record

QUERY = ("name", "mig.mode.current", "power.limit", "driver_version", "compute_cap", "memory.total")
_TIMEOUT_S = 20
_CUDA_VERSION = re.compile(r"CUDA (?:\w+ )?Version:\s*(\d+)")


class Gpus(Record):
    """The GPUs engines may use, all of one model.

    ``power_limit_w`` and ``cuda_major`` are None where the driver does not tell; ``capability``
    such as ``9.0``.
    """

    model: str
    count: int
    mig: bool
    power_limit_w: int | None
    driver_major: int
    cuda_major: int | None
    capability: str
    memory_gib: int


def parse_gpus(query_csv: str, header: str, visible: str | None = None) -> Gpus | None:
    """GPUs in nvidia-smi's output; None where there are none.

    ``query_csv``: `--query-gpu` of `QUERY` as CSV without header and units. ``header``: the plain
    call's output, which alone names the CUDA version. ``visible``: CUDA_VISIBLE_DEVICES.

    Raises:
        ValueError: GPUs of different models, which no fingerprint can stand for.
    """
    rows = [[cell.strip() for cell in line.split(",")] for line in query_csv.splitlines() if line]
    rows = [row for row in rows if len(row) == len(QUERY)]
    if visible is not None:
        chosen = [part.strip() for part in visible.split(",") if part.strip()]
        if all(part.isdigit() for part in chosen):
            rows = [rows[int(part)] for part in chosen if int(part) < len(rows)]
        else:  # UUIDs: as many as are named
            rows = rows[: len(chosen)]
    if not rows:
        return None
    models = sorted({row[0] for row in rows})
    if len(models) > 1:
        raise ValueError(f"GPUs differ ({', '.join(models)}): choose with CUDA_VISIBLE_DEVICES")
    model, mig, power, driver, capability, memory = rows[0]
    cuda = _CUDA_VERSION.search(header)
    return Gpus(
        model=model.removeprefix("NVIDIA "),
        count=len(rows),
        mig=mig == "Enabled",
        power_limit_w=_whole(power),
        driver_major=_whole(driver) or 0,
        cuda_major=int(cuda[1]) if cuda else None,
        capability=capability,
        memory_gib=round((_whole(memory) or 0) / 1024),
    )


def read_gpus(env: Mapping[str, str]) -> Gpus | None:
    """This machine's GPUs; None without nvidia-smi or without GPUs."""
    query = _nvidia_smi(f"--query-gpu={','.join(QUERY)}", "--format=csv,noheader,nounits")
    return parse_gpus(query, _nvidia_smi(), env.get("CUDA_VISIBLE_DEVICES")) if query else None


def _nvidia_smi(*arguments: str) -> str:
    try:
        result = subprocess.run(
            ["nvidia-smi", *arguments], capture_output=True, text=True, timeout=_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout if result.returncode == 0 else ""


def _whole(text: str) -> int | None:
    found = re.match(r"\d+", text)
    return int(found[0]) if found else None
