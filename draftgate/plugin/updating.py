"""What ``--update-baselines`` does at the end of a run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from draftgate.baseline.errors import BaselineError
from draftgate.baseline.schema import Provenance
from draftgate.baseline.update import Action, Decision, UpdatePolicy, UpdateRequest, ci_refusal
from draftgate.plugin.candidates import candidates

if TYPE_CHECKING:
    from draftgate import engine
    from draftgate.baseline.store import BaselineStore
    from draftgate.measure.session import Measured
    from draftgate.plugin.options import Options

NAMED = 3  # cells that share a reason are counted; so many of them are named


@dataclass(frozen=True)
class Updated:
    """``problems``: why baselines were not written, a line a reason; empty: all went well."""

    decisions: tuple[Decision, ...] = ()
    problems: tuple[str, ...] = ()

    def counts(self) -> str:
        """For example ``12 written, 3 kept``."""
        found = Counter(decision.action.value for decision in self.decisions)
        return ", ".join(f"{n} {action}" for action, n in sorted(found.items(), reverse=True))


def update_baselines(
    options: Options,
    store: BaselineStore,
    measured: Iterable[Measured],
    limits: Mapping[str, float],
    software: engine.Provenance,
    refusal: str | None,
) -> Updated:
    """Offer what was measured to the store; ``refusal``: why the whole run may not update."""
    if options.update is None:
        return Updated()
    request = UpdateRequest(
        UpdatePolicy(options.update),
        Provenance(
            commit=software.commit or "unknown",
            date=datetime.now(UTC).date().isoformat(),
            vllm=software.vllm or "unknown",
            torch=software.torch or "unknown",
            reason=f"pytest --update-baselines={options.update}",
        ),
        accept_regression=options.accept_regression,
        refusal=refusal or ci_refusal(os.environ, options.baseline_dir, Path.cwd()),
    )
    found, unusable = candidates(measured, limits)
    try:
        decisions = store.update(found, request)
    except BaselineError as error:
        return Updated(problems=(f"no baseline was written: {error}",))
    return Updated(tuple(decisions), (*unusable, *_refusals(decisions)))


def _refusals(decisions: Sequence[Decision]) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for decision in decisions:
        if decision.action is Action.REFUSED:
            candidate = decision.candidate
            name = f"{candidate.cell_id} ({candidate.key})"
            by_reason.setdefault(decision.reason, []).append(name)
    for reason, names in by_reason.items():
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        yield f"baseline not written: {', '.join(names[:NAMED])}{more}: {reason}"
