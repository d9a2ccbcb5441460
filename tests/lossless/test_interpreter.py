"""Interpreted kernels, each check in a process of its own: kernels are chosen at import."""

import os
import subprocess
import sys

import pytest

LOAD = """
import numpy as np
from draftgate.lossless.samplers import SamplerError, load_sampler
"""

SAME_AS_NATIVE = """
import sys
from draftgate.lossless.adversaries import random_chain
from draftgate.lossless.trial import Trial

sampler = load_sampler(sys.argv[1])
rng = np.random.default_rng(0)
chains = [random_chain(rng, 5, *kind) for kind in ((2, "near"), (0, "near"), (1, "holes"))]
trial = Trial(chains, 8)
batch = trial.draw(rng)
tokens, requests = len(batch.drafts), len(batch.lengths)
noise = (1 / rng.exponential(size=(requests, 5))).astype(np.float32)
recovered = sampler.recover(batch, noise)
bonus = rng.integers(0, 5, requests).astype(np.int32)
print(sampler.is_native)
print(recovered.tolist())
print(sampler.accept(batch, bonus, rng.random(tokens), recovered).tolist())
print(sampler.match(batch, bonus).tolist())
print(sampler.sample(batch, 3).tolist())
"""

TOO_LATE = """
load_sampler("v1-native")
try:
    load_sampler("v1-interpreted")
except SamplerError as error:
    print(error)
"""


def lines(code: str, *arguments: str) -> list[str]:
    environment = os.environ | {"VLLM_LOGGING_LEVEL": "ERROR", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", "-c", LOAD + code, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if not line.startswith("Triton is")]


@pytest.mark.slow
def test_interpreter_changes_no_result():
    """Same numbers in, same tokens out; with random numbers of their own, too: one generator."""
    native, interpreted = (lines(SAME_AS_NATIVE, name) for name in ("v1-native", "v1-interpreted"))
    assert (native[0], interpreted[0]) == ("True", "False")
    assert native[1:] == interpreted[1:]


@pytest.mark.slow
def test_kernels_cannot_be_chosen_twice():
    (message,) = lines(TOO_LATE)
    assert message.startswith("v1-interpreted cannot run: ")
