"""Starting several engines, a few at a time, without one failure stopping the others."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from draftgate.engine.errors import EngineError
from draftgate.engine.host import EngineHost

_POLL_S = 0.05
StartState = Literal["starting", "ready", "failed"]
StartCallback = Callable[[EngineHost, StartState], None]


@dataclass(frozen=True)
class Started:
    """Outcome of `start_many`: engines that stand, and labels with why the others do not."""

    ready: tuple[EngineHost, ...]
    failed: dict[str, EngineError]

    def close(self) -> None:
        """Close every engine that stands."""
        for host in self.ready:
            host.close()


def start_many(
    hosts: Iterable[EngineHost], *, at_once: int = 2, on_change: StartCallback | None = None
) -> Started:
    """Start ``hosts`` with at most ``at_once`` starting at a time; waits until all stand or failed.

    An interruption (Ctrl-C) closes all of them and passes on.
    """
    everyone = list(hosts)
    try:
        failed = _start(deque(everyone), at_once, on_change or (lambda host, state: None))
    except BaseException:
        for host in everyone:
            host.close()
        raise
    return Started(tuple(host for host in everyone if host.label not in failed), failed)


def _start(
    waiting: deque[EngineHost], at_once: int, on_change: StartCallback
) -> dict[str, EngineError]:
    starting: list[EngineHost] = []
    failed: dict[str, EngineError] = {}

    def attempt(host: EngineHost, action: Callable[[EngineHost], bool]) -> bool:
        try:
            return action(host)
        except EngineError as error:
            failed[host.label] = error
            on_change(host, "failed")
            return False

    while waiting or starting:
        while waiting and len(starting) < at_once:
            host = waiting.popleft()
            on_change(host, "starting")
            if attempt(host, _launch):
                starting.append(host)
        for host in tuple(starting):
            if attempt(host, _is_ready):
                on_change(host, "ready")
                starting.remove(host)
            elif host.label in failed:
                starting.remove(host)
    return failed


def _launch(host: EngineHost) -> bool:
    host.launch()
    return True


def _is_ready(host: EngineHost) -> bool:
    return host.is_ready(_POLL_S)
