"""The profile of the inner runs: three arms with a timed workload, and another target."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from small_profile import SMALL_TOML

Run = Callable[..., pytest.RunResult]

ISA_FOLDER = "baselines/portable/x86-avx2-fp32"

PROFILE = SMALL_TOML
