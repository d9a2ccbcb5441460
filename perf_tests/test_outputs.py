"""Is it still lossless, on the very tokens that were measured?"""

import pytest


@pytest.mark.cells(speculative=True)
def test_outputs_equal_control(cell, perf):
    perf.judge("outputs_equal_control")


def test_outputs_unchanged(cell, perf):
    perf.judge("outputs")


def test_identities(cell, perf):
    perf.require_sound()
