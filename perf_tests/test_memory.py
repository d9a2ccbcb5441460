"""Does the engine's cache hold what the models' configs say, target and draft together?"""

import pytest


@pytest.mark.cells(timed=True)
def test_kv_bytes_per_token(cell, perf):
    perf.require_memory()
