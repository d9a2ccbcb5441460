"""What ``--prune-baselines`` does at the end of a run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from draftgate.baseline.errors import BaselineError
from draftgate.baseline.prune import prune
from draftgate.baseline.update import ci_refusal
from draftgate.profile import ProfileError
from draftgate.profile.load import load_profile
from draftgate.profile.locate import known_profiles

if TYPE_CHECKING:
    from draftgate.plugin.gate import Gate
    from draftgate.profile.model import Profile
    from draftgate.verdict.evidence import RunFacts


@dataclass(frozen=True)
class Pruned:
    """Cells whose baselines were deleted, once a file; ``problem``: why nothing was."""

    cells: tuple[str, ...] = ()
    problem: str = ""

    def notes(self) -> Iterator[str]:
        """Lines for the summary."""
        if self.problem:
            yield f"no baseline was pruned: {self.problem}"
        if self.cells:
            yield f"baselines deleted, which no profile has: {', '.join(self.cells)}"


def prune_baselines(gate: Gate, exitstatus: int, about: RunFacts) -> Pruned:
    """Delete this machine's baselines of cells that neither this nor another profile has.

    Only a full run that passed may: it has shown that what it leaves still works.
    """
    if not gate.options.prune:
        return Pruned()
    root = gate.options.baseline_dir
    problem = _not_full(gate, about) or ci_refusal(os.environ, root, Path.cwd())
    if exitstatus != 0:
        problem = "the run did not pass"
    if problem:
        return Pruned(problem=problem)
    try:
        cells = _cells_of_the_series(gate.profile)
        found = prune(root, cells, gate.baseline_keys())
    except (BaselineError, ProfileError) as error:
        return Pruned(problem=str(error))
    return Pruned(tuple(f"{orphan.cell} ({orphan.place.key})" for orphan in found))


def _not_full(gate: Gate, about: RunFacts) -> str | None:
    if about.keyword or about.deselected or about.shard:
        return "the run selected among the cells; give neither -k nor --shard"
    if set(gate.cells) != set(gate.profile.cells()):
        return "the run did not select every cell of its profile"
    if gate.profile.name not in known_profiles():
        return (
            f"profile {gate.profile.name!r} does not lie under profiles/, and others like it may "
            "share these files unseen; put it there"
        )
    return None


def _cells_of_the_series(profile: Profile) -> set[str]:
    """Profiles share baseline files, so what another one of the series measures is no orphan."""
    profiles = [profile, *map(load_profile, known_profiles())]
    series = (p for p in profiles if p.baseline_series == profile.baseline_series)
    return {cell.id for known in series for cell in known.cells()}
