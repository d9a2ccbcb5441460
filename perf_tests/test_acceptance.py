"""Is it still accepting as much? Exact metrics, compared with `==` in both directions."""


def test_acceptance_length(speculative_cell, perf):
    perf.judge("acceptance_length")


def test_per_position_acceptance(speculative_cell, perf):
    perf.judge("per_position_acceptance_rate")


def test_drafted_tokens(speculative_cell, perf):
    perf.judge("drafted_tokens")


def test_tokens_per_step(cell, perf):
    perf.judge("tokens_per_step")
