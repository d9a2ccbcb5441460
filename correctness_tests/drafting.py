"""What an engine's counters must say before its text proves anything."""

from __future__ import annotations

from draftgate.engine import SpecCounters
from draftgate.lossless.channels import AnotherFault, LawRefuted


def accepts_some(
    counters: SpecCounters | None, fault: type[LawRefuted] | type[AnotherFault] = LawRefuted
) -> SpecCounters:
    """The counters of an engine that accepted drafts; ``fault`` is raised of one that did not."""
    if counters is None or not counters.accepted_tokens:
        raise fault(f"no draft was accepted: {counters}", "acceptance")
    return counters
