"""What a run says of itself in JUnit and in `run.json`, for `draftgate gate` and `merge`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from draftgate.plugin.stash import DESELECTED

if TYPE_CHECKING:
    from draftgate.plugin.gate import Gate
    from draftgate.verdict.evidence import RunFacts


def run_facts(gate: Gate, config: pytest.Config) -> RunFacts:
    """The facts of the run that ``gate`` judges."""
    from draftgate.profile.manifest_hash import manifest_hash
    from draftgate.verdict.evidence import RunFacts

    software = gate.surroundings.provenance
    dirty = "-dirty" if software.dirty else ""
    return RunFacts(
        profile=gate.profile.name,
        manifest=manifest_hash(gate.profile),
        fingerprint=gate.surroundings.fingerprint.key,
        commit=f"{software.commit}{dirty}" if software.commit else "",
        shard=str(gate.options.shard or ""),
        keyword=config.option.keyword,
        deselected=config.stash.get(DESELECTED, 0),
        updating=gate.options.update or "",
    )


def tell_junit(gate: Gate, request: pytest.FixtureRequest) -> None:
    """Put the facts on the suite in JUnit, as ``perf.*`` properties; what is empty is left out."""
    if not request.config.pluginmanager.hasplugin("junitxml"):
        return
    record = request.getfixturevalue("record_testsuite_property")
    for name, value in asdict(run_facts(gate, request.config)).items():
        if value:
            record(f"perf.{name}", value)
