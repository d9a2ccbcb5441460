"""Which variant and k to run, by workload and batch size, and why: from a run's timed cells."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from draftgate.analysis.errors import AnalysisError
from draftgate.measure.record import Measurement
from draftgate.verdict.noise import NoiseModel, difference

CONTROL = "none"


class AdviceError(AnalysisError):
    """Results that no advice can be drawn from; says what is missing."""


@dataclass(frozen=True)
class Candidate:
    """A variant at one workload and batch size, against standard decoding of the same session.

    ``speedups``: one a round. ``tokens``, ``step_time``: factors of tokens an engine step yields
    and of the time it takes; their ratio is the speed-up.
    """

    variant: str
    k: int
    speedups: tuple[float, ...]
    tokens: float
    step_time: float

    @property
    def speedup(self) -> float:
        """Median round."""
        return statistics.median(self.speedups)


@dataclass(frozen=True)
class Margin:
    """Speed-up over the next best, less one, with its 95 % confidence interval."""

    value: float
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """Whether noise leaves no doubt that there is one."""
        return self.low > 0


@dataclass(frozen=True)
class Advice:
    """What to run for ``target``, ``workload`` and ``batch_size``.

    ``following``: the next best. ``break_even``: batch size from which the best of this batch size
    no longer beats standard decoding (see `break_even`).
    """

    target: str
    workload: str
    batch_size: int
    best: Candidate
    following: Candidate
    margin: Margin
    break_even: str
    reason: str


def advise(cells: Iterable[Measurement], noise: NoiseModel | None = None) -> tuple[Advice, ...]:
    """Advice for every target, workload and batch size with a timed variant, in that order.

    Raises AdviceError where no cell is a timed variant.
    """
    timed = [cell for cell in cells if cell.draftgate.timed.get("speedup")]
    if not timed:
        raise AdviceError(
            "no cell has a timed variant with its control; measure cells that are timed "
            "(a profile's matrix without `timed = false`)"
        )
    found = []
    for (target, workload), group in groupby(sorted(timed, key=_place), _target_and_workload):
        by_batch = {
            size: _candidates(list(same))
            for size, same in groupby(group, lambda cell: cell.draftgate.subject.batch_size)
        }
        found += [
            _advice(target, workload, size, by_batch, noise or NoiseModel()) for size in by_batch
        ]
    return tuple(found)


def break_even(points: Sequence[tuple[int, float]]) -> str:
    """Batch size at which the speed-up falls to 1, of (batch size, speed-up) by rising size.

    Interpolated in the logarithm of the batch size, such as ``"23"``. Beyond what was measured only
    the side is known: ``">16"`` where every one is faster, ``"<1"`` where the first is slower.
    """
    first, last = points[0], points[-1]
    if first[1] <= 1:
        return f"<{first[0]}"
    for (size, gain), (next_size, next_gain) in pairwise(points):
        if next_gain <= 1:
            share = math.log(gain) / (math.log(gain) - math.log(next_gain))
            return f"{size * (next_size / size) ** share:.3g}"
    return f">{last[0]}"


def _advice(
    target: str,
    workload: str,
    size: int,
    by_batch: dict[int, tuple[Candidate, ...]],
    noise: NoiseModel,
) -> Advice:
    best, following, *_ = by_batch[size]
    margin = _margin(best, following, noise)
    drafting = best if best.variant != CONTROL else following
    points = [
        (other, candidate.speedup)
        for other, candidates in by_batch.items()
        for candidate in candidates
        if candidate.variant == drafting.variant
    ]
    reason = _reason(by_batch[size], margin)
    return Advice(target, workload, size, best, following, margin, break_even(points), reason)


def _candidates(cells: Sequence[Measurement]) -> tuple[Candidate, ...]:
    """The variants and standard decoding itself, the fastest first."""
    rounds = max(len(cell.draftgate.timed["speedup"]) for cell in cells)
    control = Candidate(CONTROL, 0, (1.0,) * rounds, 1.0, 1.0)
    found = [control, *map(_candidate, cells)]
    return tuple(sorted(found, key=lambda candidate: -candidate.speedup))


def _candidate(cell: Measurement) -> Candidate:
    block = cell.draftgate
    arm, control = block.rounds[0], block.control_rounds[0]
    tokens = (arm.generated_tokens / arm.steps) / (control.generated_tokens / control.steps)
    speedups = block.timed["speedup"]
    return Candidate(
        variant=block.subject.variant,
        k=block.subject.k,
        speedups=speedups,
        tokens=tokens,
        step_time=tokens / statistics.median(speedups),
    )


def _margin(best: Candidate, following: Candidate, noise: NoiseModel) -> Margin:
    found = difference([best.speedups], [following.speedups], noise)
    low, high = found.log_ratio - found.half_width(), found.log_ratio + found.half_width()
    return Margin(math.expm1(found.log_ratio), math.expm1(low), math.expm1(high))


def _reason(candidates: Sequence[Candidate], margin: Margin) -> str:
    """One sentence; a speed-up is tokens per step over time per step, so those two explain it."""
    best, following, *others = candidates
    sure = "" if margin.clear else ", though noise leaves the order open"
    if best.variant == CONTROL:
        return (
            f"nothing pays: {following.variant}, the best of them, yields {following.tokens:.2f} "
            f"times the tokens an engine step, but a step takes {following.step_time:.2f} times as "
            f"long{sure}"
        )
    told = (
        f"{best.variant} yields {best.tokens:.2f} times the tokens an engine step in steps "
        f"{best.step_time:.2f} times as long"
    )
    if following.variant == CONTROL:
        rest = "no other variant beats standard decoding" if others else "no other was timed"
        doubt = "" if margin.clear else "; noise leaves open whether it beats standard decoding"
        return f"{told}; {rest}{doubt}"
    return (
        f"{told}, {following.variant} {following.tokens:.2f} times in steps "
        f"{following.step_time:.2f} times as long{sure}"
    )


def _place(cell: Measurement) -> tuple[str, str, int]:
    return (*_target_and_workload(cell), cell.draftgate.subject.batch_size)


def _target_and_workload(cell: Measurement) -> tuple[str, str]:
    subject = cell.draftgate.subject
    return subject.target, subject.workload
