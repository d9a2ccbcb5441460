"""Is it still as fast? Timed metrics, judged with their noise against this machine's baseline."""

import pytest


@pytest.mark.cells(timed=True)
def test_output_throughput(cell, perf, benchmark):
    perf.time_with(benchmark)
    perf.judge("output_throughput")


@pytest.mark.cells(timed=True, speculative=True)
def test_speedup(cell, perf):
    perf.judge("speedup")
