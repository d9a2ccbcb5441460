"""A round as a line of marks: scopes that open and close, and steps that begin.

Between two marks time belongs to the innermost open scope and to the step begun last. So each
moment is counted once, whatever nests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from draftgate.engine.records import StageSteps
from draftgate.engine.stages.clock import Clock

STAGE_OF_SCOPE = {"forward": "verify", "logits": "verify", "sample": "sample", "draft": "draft"}
"""Scope -> stage; every other scope is overhead."""

UNATTRIBUTED = "unattributed"


class StepLoad(NamedTuple):
    """What a step computes; see `draftgate.engine.records.StageSteps`."""

    requests: int
    batched_tokens: int
    prefill_tokens: int
    kv_tokens: int
    drafted_tokens: int


class _Closed:
    """The mark of a scope that closes."""


_CLOSED = _Closed()


class _Scope(AbstractContextManager[None]):
    """Marks on entering and leaving; holds nothing of a single use, so it may nest in itself."""

    __slots__ = ("_mark", "_name")

    def __init__(self, mark: Any, name: str) -> None:
        self._mark = mark
        self._name = name

    def __enter__(self) -> None:
        self._mark(self._name)

    def __exit__(self, *exception: object) -> None:
        self._mark(_CLOSED)


@dataclass
class _Sums:
    """Milliseconds of a step by stage, and of the round by scope."""

    steps: list[defaultdict[str, float]] = field(default_factory=list)
    scopes: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))


class Timeline:
    """Records the marks of one round.

    ``host_scopes``: scopes of the scheduler and the front end are marked too, so that nearly all
    of a step has a name. Without them the rest of a step is taken for overhead.
    """

    def __init__(self, clock: Clock, *, host_scopes: bool) -> None:
        self._clock = clock
        self._host_scopes = host_scopes
        self._moments: list[Any] = []
        self._events: list[str | StepLoad | _Closed | None] = []
        self._scopes: dict[str, _Scope] = {}
        self._mark(None)

    def scope(self, name: str) -> AbstractContextManager[None]:
        """A context that marks scope ``name``."""
        if name not in self._scopes:
            self._scopes[name] = _Scope(self._mark, name)
        return self._scopes[name]

    def begin_step(self, load: StepLoad) -> None:
        """A step begins; the one before ends."""
        self._mark(load)

    def end(self) -> StageSteps | None:
        """End the last step; None where there was no step. What precedes the first is part of it.

        Raises ValueError where scopes do not nest.
        """
        self._mark(None)
        loads = [event for event in self._events if isinstance(event, StepLoad)]
        return self._columns(loads, self._summed()) if loads else None

    def _mark(self, event: str | StepLoad | _Closed | None) -> None:
        self._events.append(event)
        self._moments.append(self._clock.mark())

    def _summed(self) -> _Sums:
        sums = _Sums([defaultdict(float)])
        open_scopes: list[str] = []
        begun = False
        for event, delta in zip(self._events, self._clock.deltas_ms(self._moments), strict=False):
            if isinstance(event, str):
                open_scopes.append(event)
            elif event is _CLOSED:
                if not open_scopes:
                    raise ValueError("stage timer: a scope closed that was not open")
                open_scopes.pop()
            elif isinstance(event, StepLoad):
                if begun:
                    sums.steps.append(defaultdict(float))
                begun = True
            scope = open_scopes[-1] if open_scopes else UNATTRIBUTED
            sums.scopes[scope] += delta
            sums.steps[-1]["step"] += delta
            sums.steps[-1][self._stage(scope)] += delta
        return sums

    def _stage(self, scope: str) -> str:
        if scope == UNATTRIBUTED and self._host_scopes:
            return UNATTRIBUTED
        return STAGE_OF_SCOPE.get(scope, "overhead")

    def _columns(self, loads: Iterable[StepLoad], sums: _Sums) -> StageSteps:
        columns: dict[str, Any] = dict(
            zip(StepLoad._fields, map(tuple, zip(*loads, strict=True)), strict=True)
        )
        for name in ("step", "draft", "verify", "sample", "overhead"):
            columns[f"{name}_ms"] = tuple(round(step[name], 4) for step in sums.steps)
        return StageSteps(
            clock=self._clock.name,
            scopes_ms={name: round(ms, 3) for name, ms in sorted(sums.scopes.items())},
            **columns,
        )
