"""The engines of a session: started once a scenario, resident as long as memory allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING

from draftgate.engine.errors import EngineError
from draftgate.engine.fault import Fault
from draftgate.engine.fleet import StartCallback, start_many
from draftgate.engine.forkserver import can_fork_engines
from draftgate.engine.host import EngineHost
from draftgate.engine.interpreter import Interpreter
from draftgate.engine.process import Launch, spawn
from draftgate.engine.protocol import EngineInfo, RoundRequest
from draftgate.engine.records import RoundRecord
from draftgate.engine.scores import Scoring, TokenScore
from draftgate.engine.spec import EngineSpec

if TYPE_CHECKING:
    from draftgate.profile.cells import Scenario

HostFactory = Callable[["Scenario"], EngineHost]


def host_factory(
    log_dir: Path,
    *,
    max_num_seqs: Callable[[Scenario], int],
    seed: int,
    launch: Launch = spawn,
    interpreters: Mapping[str, Interpreter] = MappingProxyType({}),
    fault: Callable[[Scenario], Fault | None] = lambda scenario: None,
    gpu_memory_share: float | None = None,
) -> HostFactory:
    """Makes the engine host of a scenario; the engine's log goes to ``log_dir``.

    ``launch`` starts the engine's process where it can be forked (`can_fork_engines`).
    ``interpreters``: by the scenario's environment; one that is absent is this interpreter's.
    ``fault``: what is planted in the scenario's engine on purpose. ``gpu_memory_share``: of each
    engine, where several must fit.
    """

    def make(scenario: Scenario) -> EngineHost:
        spec = EngineSpec.from_target(
            scenario.target,
            scenario.variant.speculative_config,
            max_num_seqs=max_num_seqs(scenario),
            seed=seed,
        )
        interpreter = interpreters.get(scenario.environment, Interpreter.this())
        return EngineHost(
            spec.model_copy(
                update={"fault": fault(scenario), "gpu_memory_share": gpu_memory_share}
            ),
            label=scenario.id,
            log_dir=log_dir,
            interpreter=interpreter,
            launch=launch if can_fork_engines(interpreter) else spawn,
        )

    return make


class Arms:
    """Engines by scenario, at most ``resident`` at once; the longest unused one makes room.

    The control of the scenario that needs room stays where it can, since the two are timed in
    turn. A scenario whose engine failed stays failed: its cells report the same error, the others
    go on. ``at_once`` start at a time. ``on_close`` is called after the engines have ended.
    """

    def __init__(
        self,
        make: HostFactory,
        resident: int | None = None,
        at_once: int = 2,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_close = on_close
        self._make = make
        self._resident = resident
        self._at_once = at_once
        self._hosts: dict[str, EngineHost] = {}  # least recently used first
        self._failed: dict[str, EngineError] = {}
        self._starts: Counter[str] = Counter()

    def __enter__(self) -> Arms:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def start(self, scenarios: Iterable[Scenario], on_change: StartCallback | None = None) -> None:
        """Start the engines that fit, a few at a time; failures are kept for their cells."""
        wanted = [s for s in scenarios if s.id not in self._hosts | self._failed]
        hosts = [self._make(scenario) for scenario in wanted[: self._resident]]
        self._starts.update(host.label for host in hosts)
        started = start_many(hosts, at_once=self._at_once, on_change=on_change)
        self._hosts |= {host.label: host for host in started.ready}
        self._failed |= started.failed

    def generate(self, scenario: Scenario, request: RoundRequest) -> RoundRecord:
        """One round. Raises EngineError, the earlier one where the scenario's engine is gone."""
        host = self._host(scenario)
        try:
            return host.generate(request)
        except EngineError as error:
            if error.fatal:
                self._failed[scenario.id] = error
                self._hosts.pop(scenario.id).close()
            raise

    def tokenize(self, scenario: Scenario, texts: Iterable[str]) -> tuple[tuple[int, ...], ...]:
        """Token ids of user messages, in the target's chat template. Raises as `generate`."""
        return self._host(scenario).tokenize(texts)

    def score(self, scenario: Scenario, scoring: Scoring) -> tuple[tuple[TokenScore, ...], ...]:
        """Scores of texts under the scenario's engine. Raises as `generate`."""
        return self._host(scenario).score(scoring)

    def info(self, scenario: Scenario) -> EngineInfo:
        """Facts of the scenario's engine. Raises EngineError as `generate` does."""
        return self._host(scenario).info

    def starts_of(self, scenario: Scenario) -> int:
        """How often the scenario's engine was started. Raises EngineError as `generate` does."""
        self._host(scenario)
        return self._starts[scenario.id]

    def stop(self, scenario: Scenario) -> None:
        """End the scenario's engine, if it runs; who uses it next starts it anew."""
        if host := self._hosts.pop(scenario.id, None):
            host.close()

    @property
    def starts(self) -> int:
        """Engine starts so far."""
        return self._starts.total()

    def close(self) -> None:
        """End every engine."""
        while self._hosts:
            self._hosts.popitem()[1].close()
        self._on_close()

    def _host(self, scenario: Scenario) -> EngineHost:
        if error := self._failed.get(scenario.id):
            raise error
        if scenario.id not in self._hosts:
            self._make_room(scenario)
            again = scenario.id in self._starts
            self.start([scenario])
            if again and scenario.id in self._failed:
                # It ran before: memory of an engine that has just ended may not be free yet.
                del self._failed[scenario.id]
                self.start([scenario])
            return self._host(scenario)
        self._hosts[scenario.id] = self._hosts.pop(scenario.id)
        return self._hosts[scenario.id]

    def _make_room(self, scenario: Scenario) -> None:
        while self._resident is not None and len(self._hosts) >= self._resident:
            others = (label for label in self._hosts if label != scenario.control.id)
            self._hosts.pop(next(others, scenario.control.id)).close()
