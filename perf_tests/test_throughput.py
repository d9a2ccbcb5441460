"""Is it still as fast? Timed metrics, judged with their noise against this machine's baseline."""


def test_output_throughput(cell, perf, benchmark):
    perf.time_with(benchmark)
    perf.judge("output_throughput")


def test_speedup(speculative_cell, perf):
    perf.judge("speedup")
