"""Where the plugin keeps its objects on pytest's config."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from draftgate.plugin.gate import Gate
    from draftgate.profile.model import Profile

PROFILE: pytest.StashKey[Profile] = pytest.StashKey()
GATE: pytest.StashKey[Gate] = pytest.StashKey()
PROFILE_ERROR: pytest.StashKey[str] = pytest.StashKey()
DESELECTED: pytest.StashKey[int] = pytest.StashKey()
"""Tests of cells that an option took out, other than ``--shard``."""
