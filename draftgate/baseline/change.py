"""What one baseline lost against another: the arithmetic that updates, anchors and diffs share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from draftgate.baseline.schema import TimedBaseline
from draftgate.measure.metrics import higher_is_better
from draftgate.measure.stages import STAGES


class Change(NamedTuple):
    """A timed metric's median before and after; ``loss`` is relative, negative for a gain."""

    metric: str
    before: float
    after: float
    loss: float


def changes(before: TimedBaseline, after: TimedBaseline) -> Iterator[Change]:
    """One a metric that both have; also one a stage's share, where both timed the same stages.

    A share that rose because others got cheaper is no change: `draftgate.verdict.stages`.
    """
    old, new = _medians(before), _medians(after)
    for name in new:
        if name in old:
            yield _change(name, old[name], new[name])
    if _stages(old).keys() == _stages(new).keys():
        yield from _share_changes(_stages(old), _stages(new))


def beyond(
    before: TimedBaseline, after: TimedBaseline, limits: Mapping[str, float]
) -> Iterator[Change]:
    """The changes, either way, that are larger than the metric's limit."""
    for change in changes(before, after):
        if change.metric in limits and abs(change.loss) > limits[change.metric]:
            yield change


def _change(name: str, old: float, new: float) -> Change:
    return Change(name, old, new, 1 - new / old if higher_is_better(name) else new / old - 1)


def _share_changes(old: Mapping[str, float], new: Mapping[str, float]) -> Iterator[Change]:
    for stage in new:
        before, after = old[stage] / sum(old.values()), new[stage] / sum(new.values())
        if after <= before or new[stage] > old[stage]:
            yield _change(f"{stage}_share", before, after)


def _medians(baseline: TimedBaseline) -> dict[str, float]:
    return {name: metric.median for name, metric in baseline.metrics.items()}


def _stages(medians: Mapping[str, float]) -> dict[str, float]:
    return {stage: medians[f"{stage}_ms"] for stage in STAGES if f"{stage}_ms" in medians}
