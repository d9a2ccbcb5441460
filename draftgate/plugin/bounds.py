"""The measured bound of a workload: control and variants first, then their replays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from draftgate.analysis.cost import CostModel
from draftgate.analysis.errors import CostModelError
from draftgate.analysis.fit_cost import (
    StagedCell,
    fit_cost_model,
    predicted_round_s,
    staged_cell,
)
from draftgate.analysis.replayed_bound import Replay, replays
from draftgate.engine.drafts import DraftPlan, is_scripted
from draftgate.measure.bound import Bound, measure_bound
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.manifest import UPPER_BOUND
from draftgate.verdict.verdict import Verdict

if TYPE_CHECKING:
    from draftgate.engine.records import RoundRecord
    from draftgate.measure.arms import Arms
    from draftgate.measure.session import Measured, Session
    from draftgate.profile.cells import Cell
    from draftgate.profile.model import Profile


@dataclass(frozen=True)
class Bounds:
    """Replays on engines whose drafts are scripted."""

    profile: Profile
    session: Session
    arms: Arms

    def judge(self, cell: Cell) -> tuple[tuple[Bound, ...], Verdict]:
        """Play every replay of the cell's workload at its batch size.

        REGRESSED where outputs changed, a draft of an oracle was refused, or the steps are not
        those of the script. How fast it was is reported, not judged.
        """
        found, faults = [], []
        wanted = self._replays(cell)
        simulated = Simulated.of(cell, self.session.all_measured())
        for each in wanted:
            bound = simulated.added_to(self._played(cell, each))
            found.append(bound)
            faults += [f"{each.name}: {fault}" for fault in _faults(bound, each)]
        evidence = "; ".join(faults) or f"{len(found)} replays, each as its script says"
        kind = VerdictKind.REGRESSED if faults else VerdictKind.OK
        best = max((b.speedup for b in found), default=None)
        return tuple(found), Verdict(cell.id, UPPER_BOUND, kind, value=best, evidence=evidence)

    def _replays(self, cell: Cell) -> list[Replay]:
        variants = {
            other.scenario.variant.name: self._first_round(other) for other in self._variants(cell)
        }
        control = self._first_round(cell.control)
        texts = [prompt.text for prompt in self.session.request_of(cell).prompts]
        prompts = self.arms.tokenize(cell.scenario, texts)
        return replays(prompts, control, variants, cell.scenario.variant.k)

    def _variants(self, cell: Cell) -> list[Cell]:
        """The same workload and batch size with the target's real proposers."""
        same = [
            replace(cell, scenario=scenario)
            for scenario in self.profile.scenarios()
            if scenario.target == cell.scenario.target and not scenario.is_control
        ]
        return [c for c in same if not is_scripted(c.scenario.variant.speculative_config)]

    def _first_round(self, cell: Cell) -> RoundRecord:
        return self.session.measured(cell).measurement.draftgate.rounds[0]

    def _played(self, cell: Cell, each: Replay) -> Bound:
        request = self.session.request_of(cell)

        def play(plan: DraftPlan, stages: bool) -> RoundRecord:
            scripted = request.model_copy(update={"drafts": plan, "stages": stages})
            return self.arms.generate(cell.scenario, scripted)

        return measure_bound(
            cell.id,
            each.name,
            each.plan,
            cell.scenario.variant.k,
            play=play,
            control=lambda: self.arms.generate(cell.control.scenario, request),
            rounds=self.profile.plan.rounds,
            staged=cell.staged,
        )


@dataclass(frozen=True)
class Simulated:
    """What the cost model, fitted to the stage times of this run, says of a replay's steps.

    Scripted drafts cost next to nothing, so none is charged.
    """

    model: CostModel | None
    control: StagedCell | None

    @classmethod
    def of(cls, cell: Cell, measured: Sequence[Measured]) -> Simulated:
        """Fitted to the cells of the target; without stage times it says nothing."""
        found = [
            staged_cell(m.measurement)
            for m in measured
            if m.cell.scenario.target == cell.scenario.target
        ]
        staged = {each.name: each for each in found if each is not None}
        try:
            model = fit_cost_model(cell.scenario.target.name, list(staged.values())).model
        except CostModelError:
            return cls(None, None)
        return cls(model, staged.get(cell.control.id))

    def added_to(self, bound: Bound) -> Bound:
        """The bound with its simulated speed-up, where there is one."""
        if self.model is None or self.control is None or bound.stages is None:
            return bound
        replayed = StagedCell(bound.replay, None, 0, bound.stages)
        ratio = predicted_round_s(self.model, self.control) / predicted_round_s(
            self.model, replayed
        )
        return bound.model_copy(update={"simulated_speedup": ratio})


def _faults(bound: Bound, each: Replay) -> list[str]:
    faults = list(bound.faults)
    if bound.draft_acceptance_rate not in (None, 1.0):
        faults.append(f"{100 * bound.draft_acceptance_rate:.1f} % of its drafts were accepted")
    if bound.decode_steps != each.decode_steps:
        faults.append(f"{bound.decode_steps} decode steps, the script has {each.decode_steps}")
    return faults
