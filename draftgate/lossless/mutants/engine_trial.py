"""Whole engines under a mutant: text, acceptance, counters and time against engines without it.

Greedy decoding on the tiny family in float32: every number but the times is exact, so that one
round decides. Times are compared in pairs, the sound engine's round next to the mutant's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from statistics import median

from draftgate.engine import (
    EngineError,
    EngineHost,
    EngineSpec,
    RoundPrompt,
    RoundRequest,
    Timeouts,
)
from draftgate.engine.forkserver import ForkServers, can_fork_engines
from draftgate.engine.interpreter import Interpreter
from draftgate.engine.process import spawn
from draftgate.engine.records import RoundRecord
from draftgate.lossless.channels import Channel
from draftgate.lossless.mutants.hook import hook_of
from draftgate.lossless.mutants.mutant import Mutant, MutantError, Outcome
from draftgate.lossless.repairs import KERNEL_SCAN

# What is wrong with a round's record, given k; empty where nothing is.
Identities = Callable[[RoundRecord, int], Sequence[str]]
HostMaker = Callable[..., EngineHost]

PREFIX = "engine/"
PAIRS = 5
HANG_S = 60.0  # without a finished request; sound ones take a second
SLOWER = 1.08  # every pair, and ...
MUCH_SLOWER = 1.15  # ... their median: an A/A pair of this length differs by a few percent


@dataclass(frozen=True)
class Workbench:
    """What engines under a mutant are run with. ``spec_of``: the spec of a variant's engine."""

    spec_of: Callable[[str], EngineSpec]
    request: RoundRequest
    identities: Identities


def engine_outcomes(
    mutants: Sequence[Mutant], workbench: Workbench, log_dir: Path
) -> Iterator[Outcome]:
    """Outcomes of the mutants whose ``where`` is ``engine/VARIANT``."""
    servers = ForkServers(log_dir)
    launch = servers.launch if can_fork_engines(Interpreter.this()) else spawn
    try:
        make = partial(
            EngineHost, log_dir=log_dir, launch=launch, timeouts=Timeouts(request=HANG_S)
        )
        texts = _control_texts(workbench, make)
        for where, group in groupby(mutants, key=lambda mutant: mutant.where):
            spec = workbench.spec_of(where.removeprefix(PREFIX))
            with make(spec, label=f"mutants/sound-{where.replace('/', '-')}") as sound:
                trial = _Trial(sound, sound.generate(workbench.request), texts, workbench, make)
                for mutant in group:
                    yield trial.outcome(mutant)
    finally:
        servers.close()


@dataclass(frozen=True)
class _Trial:
    """A sound engine of a variant, its record, and what standard decoding says."""

    sound: EngineHost
    record: RoundRecord
    texts: tuple[tuple[int, ...], ...]
    workbench: Workbench
    make: HostMaker

    def __post_init__(self) -> None:
        found = self._found(self.record)
        if found is not None:
            raise MutantError(f"the sound engine {self.sound.label} is not sound: {found[1]}")

    def outcome(self, mutant: Mutant) -> Outcome:
        started = time.monotonic()
        spec = self.sound.spec.model_copy(update={"hooks": (KERNEL_SCAN, hook_of(mutant))})
        host = self.make(spec, label=f"mutants/{mutant.id}")
        try:
            with host:
                found = self._found(host.generate(self.workbench.request)) or self._slower(host)
        except EngineError as error:
            if error.stage == "start-up":  # also where the mutant cannot be applied
                raise MutantError(f"{mutant.id}: {error}") from error
            found = "losslessness", "the engine fails"
        channel, test = found or (None, None)
        return Outcome(mutant, channel, test, time.monotonic() - started)

    def _found(self, record: RoundRecord) -> tuple[Channel, str] | None:
        """What is wrong with ``record``, the gravest first."""
        if _texts(record) != self.texts:
            return "losslessness", "text differs from standard decoding"
        broken = self.workbench.identities(record, self.sound.spec.k)
        if broken:
            return "metric", f"identity {broken[0]}"
        if _acceptance(record) != _acceptance(self.record):
            return "acceptance", "acceptance differs from the sound engine"
        return None

    def _slower(self, host: EngineHost) -> tuple[Channel, str] | None:
        request = self.workbench.request
        ratios = []
        for _ in range(PAIRS):
            sound, mutated = self.sound.generate(request), host.generate(request)
            ratios.append(mutated.wall_s / sound.wall_s)
        if min(ratios) > SLOWER and median(ratios) > MUCH_SLOWER:
            return "time", f"a round takes {median(ratios):.2f} times as long"
        return None


def _control_texts(workbench: Workbench, make: HostMaker) -> tuple[tuple[int, ...], ...]:
    with make(workbench.spec_of("none"), label="mutants/control") as host:
        return _texts(host.generate(workbench.request))


def _texts(record: RoundRecord) -> tuple[tuple[int, ...], ...]:
    return tuple(request.output_token_ids for request in record.requests)


def _acceptance(record: RoundRecord) -> object:
    return record.counters, [(request.drafted, request.accepted) for request in record.requests]


def workbench(
    spec_of: Callable[[str], EngineSpec],
    prompts: Sequence[RoundPrompt],
    identities: Identities,
    *,
    max_tokens: int = 64,
) -> Workbench:
    """A workbench with ``prompts``, four in flight, so that windows are ragged within a batch."""
    request = RoundRequest(prompts=tuple(prompts), batch_size=4, max_tokens=max_tokens)
    return Workbench(spec_of, request, identities)
