"""A profile of eight cells, parsed: three arms with a timed workload, and another target."""

from __future__ import annotations

import tomllib
from pathlib import Path

from draftgate.profile import parse_profile

SMALL_TOML = (Path(__file__).parent / "small.toml").read_text()
SMALL = parse_profile(tomllib.loads(SMALL_TOML), "small.toml")
