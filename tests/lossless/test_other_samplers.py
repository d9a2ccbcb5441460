"""The suite against samplers other than the process's own: kernels are chosen when vLLM loads.

A short part here, the whole suite where time allows; `DRAFTGATE_SAMPLER=NAME pytest
correctness_tests` is the same by hand.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from draftgate.lossless.samplers import VARIABLE

SUITE = Path(__file__).parents[2] / "correctness_tests"
INTERPRETED = ("v1-interpreted", "v2-interpreted", "v2-block-interpreted")


def run_suite(sampler: str, modules: tuple[str, ...] = ()) -> None:
    environment = os.environ | {VARIABLE: sampler, "OMP_NUM_THREADS": "1"}
    command = [
        *(sys.executable, "-W", "ignore", "-m", "pytest", "-q", "-p", "no:cacheprovider"),
        *("-m", "not slow and not engine"),
        *(str(SUITE / module) for module in modules or ("",)),
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_v2_kernels_do_what_their_random_numbers_ask_for():
    run_suite("v2-interpreted", ("test_verification.py", "test_draft_streams.py"))


@pytest.mark.slow
@pytest.mark.parametrize("sampler", INTERPRETED)
def test_whole_suite(sampler):
    run_suite(sampler)
