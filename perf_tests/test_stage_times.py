"""Where does a step's time go? Each stage's share of a decode step, against this machine's."""

import pytest


@pytest.mark.cells(staged=True, speculative=True)
def test_draft_share(cell, perf):
    perf.judge("draft_share")


@pytest.mark.cells(staged=True)
def test_verify_share(cell, perf):
    perf.judge("verify_share")


@pytest.mark.cells(staged=True)
def test_sample_share(cell, perf):
    perf.judge("sample_share")


@pytest.mark.cells(staged=True)
def test_overhead_share(cell, perf):
    perf.judge("overhead_share")
