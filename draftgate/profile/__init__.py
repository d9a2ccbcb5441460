"""What to measure: profiles, their targets, variants, workloads and cells."""

from draftgate.profile.cells import Cell, Scenario
from draftgate.profile.errors import ProfileError
from draftgate.profile.estimate import Totals, estimate_seconds, totals
from draftgate.profile.load import load_profile, parse_profile
from draftgate.profile.locate import default_profile, known_profiles, locate_profile
from draftgate.profile.model import (
    Limits,
    MatrixRow,
    Plan,
    Profile,
    Target,
    Variant,
    WorkloadSpec,
)

__all__ = [
    "Cell",
    "Limits",
    "MatrixRow",
    "Plan",
    "Profile",
    "ProfileError",
    "Scenario",
    "Target",
    "Totals",
    "Variant",
    "WorkloadSpec",
    "default_profile",
    "estimate_seconds",
    "known_profiles",
    "load_profile",
    "locate_profile",
    "parse_profile",
    "totals",
]
