"""Is it still lossless, on the very tokens that were timed?"""


def test_outputs_equal_control(speculative_cell, perf):
    perf.judge("outputs_equal_control")


def test_outputs_unchanged(cell, perf):
    perf.judge("outputs")


def test_identities(cell, perf):
    perf.require_sound()
