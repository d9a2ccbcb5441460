"""Writes the speculation profiles of a run, one a scenario."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from draftgate.analysis.speculation_profile import FILE_NAME, speculation_profile
from draftgate.measure.atomic import write_text
from draftgate.measure.record import Block, Measurement
from draftgate.reporting.report.select import blocks, drafting, method
from draftgate.reporting.results_folder import ResultsError


def write_profiles(measurements: Sequence[Measurement], folder: Path) -> Iterator[Path]:
    """Write ``folder/TARGET-VARIANT/speculation_profile.json`` and tell each path.

    Raises ResultsError where that cannot be done.
    """
    by_scenario: dict[str, list[Block]] = {}
    for block in drafting(blocks(measurements)):
        by_scenario.setdefault(block.subject.scenario, []).append(block)
    for scenario, cells in by_scenario.items():
        profile = speculation_profile(cells, method(cells[0]), _draft_model(cells[0]))
        if profile is None:
            continue
        path = folder / scenario.replace("/", "-") / FILE_NAME
        try:
            write_text(path, json.dumps(profile, indent=2) + "\n")
        except OSError as error:
            raise ResultsError(
                f"cannot write {path}: {error.strerror}; give a writable folder with --profiles"
            ) from None
        yield path


def _draft_model(block: Block) -> str | None:
    """The model of the engine that is not the target; None where the variant has none."""
    others = [name for name in block.provenance.models if name != block.subject.model_id]
    return others[0] if others else None
