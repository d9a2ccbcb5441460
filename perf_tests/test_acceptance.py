"""Is it still accepting as much? Exact metrics, compared with `==` in both directions."""

import pytest


@pytest.mark.cells(speculative=True)
def test_acceptance_length(cell, perf):
    perf.judge("acceptance_length")


@pytest.mark.cells(speculative=True)
def test_per_position_acceptance(cell, perf):
    perf.judge("per_position_acceptance_rate")


@pytest.mark.cells(speculative=True)
def test_drafted_tokens(cell, perf):
    perf.judge("drafted_tokens")


def test_tokens_per_step(cell, perf):
    perf.judge("tokens_per_step")
