"""Are single requests served as fast? Judged where the profile gives the metric a limit."""

import pytest


@pytest.mark.cells(timed=True, limited="mean_ttft_ms")
def test_mean_ttft(cell, perf):
    perf.judge("mean_ttft_ms")


@pytest.mark.cells(timed=True, limited="mean_tpot_ms")
def test_mean_tpot(cell, perf):
    perf.judge("mean_tpot_ms")


@pytest.mark.cells(timed=True, limited="step_time_ms")
def test_step_time(cell, perf):
    perf.judge("step_time_ms")
