"""What every measurement of a run shares: the machine, and the software under test."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from draftgate.engine.fingerprint import Fingerprint, Provenance, fingerprint, provenance
from draftgate.measure import record

if TYPE_CHECKING:
    from draftgate.engine.protocol import EngineInfo
    from draftgate.profile.cells import Scenario


@dataclass(frozen=True)
class Surroundings:
    """Read once a run: it asks git, and on a GPU machine the driver."""

    fingerprint: Fingerprint
    provenance: Provenance

    @classmethod
    def here(cls) -> Surroundings:
        """This machine, and the repository of the working directory."""
        return cls(fingerprint(), provenance(Path.cwd()))

    def elsewhere(self) -> Surroundings:
        """The same machine, for software that is not of this repository's commit."""
        unknown = self.provenance.model_copy(update={"commit": None, "dirty": None})
        return replace(self, provenance=unknown)

    def describe(
        self, scenario: Scenario, info: EngineInfo
    ) -> tuple[record.Machine, record.Provenance]:
        """Machine and provenance of a measurement; versions are the engine's own."""
        models: dict[str, str | None] = {scenario.target.model: scenario.target.revision}
        config: dict[str, Any] = scenario.variant.speculative_config or {}
        if isinstance(draft := config.get("model"), str):
            models[draft] = config.get("revision")
        machine = record.Machine(
            key=self.fingerprint.key,
            isa_class=info.isa_class,
            fields=dict(self.fingerprint.fields),
        )
        software = record.Provenance(
            vllm=info.vllm,
            torch=info.torch,
            draftgate=self.provenance.draftgate,
            python=info.python,
            commit=self.provenance.commit,
            models=models,
        )
        return machine, software
