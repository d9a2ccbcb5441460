"""Each draft's row gets its own request's temperature, top-k and top-p."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from batches import examples
from hypothesis import given
from hypothesis import strategies as st

from draftgate.lossless.adversaries import random_chain
from draftgate.lossless.constraints import Setting
from draftgate.lossless.known_issues import known_issue
from draftgate.lossless.samplers import Kernels, Repairable
from draftgate.lossless.trial import Trial
from draftgate.lossless.views import View, first_view

DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.int32, np.int64])
LENGTHS = st.lists(st.integers(0, 5), min_size=1, max_size=9)


def values_for(lengths: list[int], dtype: type, seed: int) -> np.ndarray:
    return (np.random.default_rng(seed).random(len(lengths)) * 100).astype(dtype)


@DTYPES
@given(lengths=LENGTHS, seed=st.integers(0, 2**32))
@examples(60)
def test_value_is_repeated_for_each_draft(
    sampler: Kernels, dtype: type, lengths: list[int], seed: int
) -> None:
    values = values_for(lengths, dtype, seed)
    expanded = sampler.expand(values, np.array(lengths, np.int32))
    assert expanded.dtype == dtype
    np.testing.assert_array_equal(expanded, np.repeat(values, lengths))


@pytest.mark.parametrize(
    "dtype",
    [
        pytest.param(np.float32, marks=known_issue("L1")),
        pytest.param(np.int32, marks=known_issue("L1")),
        np.int64,
    ],
)
def test_installed_expansion_repeats_the_value(sampler: Repairable, dtype: type) -> None:
    installed, lengths = sampler.as_installed(), [2, 0, 3, 1]
    for seed in range(20):  # stale memory may hold the right values by chance, once
        values = values_for(lengths, dtype, seed)
        expanded = installed.expand(values, np.array(lengths, np.int32))
        np.testing.assert_array_equal(expanded, np.repeat(values, lengths))


@known_issue("L1")
def test_installed_sampler_obeys_the_temperature(
    sampler: Repairable, follows: Callable[[str, View], None], affordable: Callable[[int], int]
) -> None:
    """What a user of this vLLM gets: the first token at temperature 0.5."""
    rng = np.random.default_rng(0)
    chain = random_chain(rng, 8, 1, "independent", Setting(temperature=0.5))
    trial = Trial([chain], affordable(20_000))
    outputs = sampler.as_installed().sample(trial.draw(rng), seed=1)
    follows("first token, as installed", first_view(outputs, chain))
