"""How far the outputs of two measurements may differ in length for their times to compare."""

from __future__ import annotations

import math

OUTPUT_SHIFT = 0.02
"""Relative change of the output tokens from which times of two measurements do not compare. Below
it the effect on throughput (a share of prefill, a fuller cache) is far smaller than any limit."""

PARTED_SD = 0.2
"""How far the length of a text that parted from its twin is off, relative; taken, not measured."""


def lengths_shifted(before: int, after: int, parting: int = 0) -> bool:
    """Whether the total length of the outputs (tokens) shifted.

    ``parting``: how many of the texts may differ between equal engines, whose lengths then scatter.
    """
    scatter = 2 * PARTED_SD / math.sqrt(parting) if parting else 0.0
    return abs(after / before - 1) > OUTPUT_SHIFT + scatter
