"""How far could a proposer go? Standard decoding's own output, replayed as drafts.

For a profile with a scripted variant (profiles/cpu-bound.toml); others have no such cells.
"""

import pytest


@pytest.mark.slow
@pytest.mark.cells(scripted=True)
def test_upper_bound(cell, perf):
    bounds = perf.measure_bounds()
    assert {b.replay.partition("-")[0] for b in bounds} == {"fixed", "oracle"}
