"""How long a plan takes, roughly: for deciding whether to start it, never for a verdict.

A step at batch size b takes ``step_ms + b * step_ms_per_sequence``; a request generates
``output_fill`` of its token limit, one token a step. Speculative decoding is estimated at the
control's speed (an upper bound where it helps), prefill and scoring are left out. A timed cell runs
its ``rounds``, each beside one of its control, in every session (warm-up is left out: an engine
needs it once a batch size), and one more where stages are timed; a cell that is not timed runs one.
All constants stand in the profile's ``[plan.estimate]``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from draftgate.profile.cells import Cell
from draftgate.profile.model import Plan


@dataclass(frozen=True)
class Totals:
    """A plan in three numbers; ``estimated_s`` includes the engine starts."""

    cells: int
    engine_starts: int
    estimated_s: float


def estimate_seconds(plan: Plan, cell: Cell) -> float:
    """Seconds to measure ``cell``, without the start of its engine."""
    constants, spec, size = plan.estimate, cell.workload, cell.batch_size
    batches = spec.prompts if plan.batch_mode == "replicated" else max(spec.prompts / size, 1.0)
    steps = batches * spec.max_tokens * constants.output_fill
    step_ms = constants.step_ms + size * constants.step_ms_per_sequence
    sides = 1 if cell.scenario.is_control else 2
    passes = plan.rounds * sides + sum(cell.staged_rounds) if cell.timed else 1
    return passes * steps * step_ms / 1000


def totals(plan: Plan, cells: Iterable[Cell]) -> Totals:
    """Sums over ``cells``; an engine starts once a scenario."""
    chosen = tuple(cells)
    starts = len({cell.scenario.id for cell in chosen})
    seconds = sum(estimate_seconds(plan, cell) for cell in chosen)
    return Totals(len(chosen), starts, seconds + starts * plan.estimate.engine_start_s)
