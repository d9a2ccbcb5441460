"""Repairs of vLLM's known defects, in processes of their own: each changes vLLM for good."""

from __future__ import annotations

import subprocess
import sys

from draftgate.lossless.known_issues import known_issue

REGISTER = """
import llvmlite.binding  # a library object of it answers any attribute
from vllm.platforms import current_platform
current_platform.register_triton_kernel_overrides()
"""
REPAIR = "from draftgate.lossless.repairs import install_kernel_scan; install_kernel_scan()"


def run(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@known_issue("L7", "start-up")
def test_installed_scan_for_kernels_passes_over_foreign_objects() -> None:
    run(REGISTER)


def test_repaired_scan_for_kernels_passes_over_foreign_objects() -> None:
    run(REPAIR + REGISTER)
