"""What one baseline lost against another: the arithmetic that updates, anchors and diffs share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from draftgate.baseline.schema import TimedBaseline
from draftgate.measure.metrics import higher_is_better


class Change(NamedTuple):
    """A timed metric's median before and after; ``loss`` is relative, negative for a gain."""

    metric: str
    before: float
    after: float
    loss: float


def changes(before: TimedBaseline, after: TimedBaseline) -> Iterator[Change]:
    """One a metric that both have."""
    for name, metric in after.metrics.items():
        if name in before.metrics:
            old, new = before.metrics[name].median, metric.median
            loss = 1 - new / old if higher_is_better(name) else new / old - 1
            yield Change(name, old, new, loss)


def beyond(
    before: TimedBaseline, after: TimedBaseline, limits: Mapping[str, float]
) -> Iterator[Change]:
    """The changes, either way, that are larger than the metric's limit."""
    for change in changes(before, after):
        if change.metric in limits and abs(change.loss) > limits[change.metric]:
            yield change
