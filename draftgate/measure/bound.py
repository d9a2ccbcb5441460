"""Playing a script beside the control: how fast standard decoding's own output can be replayed."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from draftgate.engine.drafts import DraftPlan
from draftgate.engine.records import Record, RoundRecord, StageSteps
from draftgate.measure import metrics
from draftgate.measure.agreement import compare_outputs
from draftgate.measure.cell_run import CellRun
from draftgate.measure.identities import check
from draftgate.measure.warmup import Play


class Bound(Record):
    """One replay, measured: ``speedups`` over the control's round beside each round.

    ``draft_acceptance_rate`` is 1 where the script drafted only what is accepted, None where it
    never drafted. ``stages``: of one round more, with the stage timer on, where it is wanted.
    ``simulated_speedup``: by the cost model, None without one. ``faults``: broken identities, and
    outputs that are not the control's.
    """

    cell: str
    replay: str
    k: int
    decode_steps: int
    tokens_per_step: float | None
    draft_acceptance_rate: float | None
    speedups: tuple[float, ...]
    stages: StageSteps | None = None
    simulated_speedup: float | None = None
    faults: tuple[str, ...] = ()

    @property
    def speedup(self) -> float:
        """Median over the rounds."""
        return statistics.median(self.speedups)


def measure_bound(
    cell: str,
    replay: str,
    plan: DraftPlan,
    k: int,
    *,
    play: Callable[[DraftPlan, bool], RoundRecord],
    control: Play,
    rounds: int,
    staged: bool = False,
) -> Bound:
    """Play ``plan`` ``rounds`` times, each beside the control, after one round to warm up.

    ``k``: the engine's. ``play`` takes the plan, and whether the stage timer is on; with ``staged``
    one such round comes last. Raises what ``play`` and ``control`` raise.
    """
    play(plan, False)
    run = CellRun(lambda: play(plan, False), control, rounds)
    run.finish()
    first = run.rounds[0]
    return Bound(
        cell=cell,
        replay=replay,
        k=k,
        decode_steps=metrics.decode_steps(first),
        tokens_per_step=metrics.tokens_per_step(first),
        draft_acceptance_rate=metrics.draft_acceptance_rate(first),
        speedups=metrics.paired_speedups(run.rounds, run.control_rounds),
        stages=play(plan, True).stages if staged else None,
        faults=_faults(run.rounds, run.control_rounds, k),
    )


def _faults(
    rounds: Sequence[RoundRecord], controls: Sequence[RoundRecord], k: int
) -> tuple[str, ...]:
    broken = [f"{b.identity}: {b.detail}" for b in check(rounds, k)]
    agreement = compare_outputs(rounds[0], controls[0])
    if not agreement.equal:
        broken.append(
            f"{agreement.requests - agreement.identical} of {agreement.requests} outputs are not "
            "the control's"
        )
    return tuple(broken)
