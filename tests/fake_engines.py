"""Engines that answer at once with consistent rounds, and misbehave on demand.

They stand in for `draftgate.engine.host.EngineHost` below `Arms`: everything above is real.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from draftgate.engine.errors import EngineError
from draftgate.engine.fault import Fault
from draftgate.engine.protocol import EngineInfo, RoundPrompt, RoundRequest
from draftgate.engine.records import (
    EngineMemory,
    RequestRecord,
    RoundRecord,
    SpecCounters,
    StageSteps,
)
from draftgate.engine.scores import Scoring, TokenScore
from draftgate.profile.cells import Scenario

ISA = "x86-avx2-fp32"
KV_BYTES_PER_TOKEN = 12288  # of testbed:llama-tiny, which needs no engine to be known
STEP_S = 0.01
DRAFTING_COST = 1.2  # of a step with drafts, relative to one without
LOG_TAIL = "the last line of its log"


@dataclass
class Script:
    """What an engine does; change it before or between runs.

    ``accepts``: accepted tokens of successive verifications, again and again. ``slower``: factor
    on every wall time. ``fails_at``: number of the engine's round (from 1) -> error raised in it;
    0 is start-up. ``alter``: changes a finished round's record. ``gap``: of every token it scores.
    ``isa``: its class of machines.
    """

    accepts: tuple[int, ...] = (3, 1, 2)
    slower: float = 1.0
    fails_at: dict[int, BaseException] = field(default_factory=dict)
    alter: Callable[[RoundRecord], RoundRecord] = lambda record: record
    gap: float = 5.0
    isa: str = ISA


class FakeHost:
    """What `Arms` and `start_many` use of an engine host."""

    def __init__(self, scenario: Scenario, script: Script) -> None:
        self.label = scenario.id
        self.k = scenario.variant.k
        self.script = script
        self.fault: Fault | None = None
        self.launched = False
        self.closed = False
        self.requests: list[RoundRequest] = []

    @property
    def alive(self) -> bool:
        return self.launched and not self.closed

    def launch(self) -> None:
        self.launched = True

    def is_ready(self, wait_s: float = 0.0) -> bool:
        self._fail_at(0)
        return True

    def close(self) -> None:
        self.closed = True

    @property
    def info(self) -> EngineInfo:
        return EngineInfo(
            vllm="0.32.0",
            torch="2.13.0",
            python="3.11",
            platform="cpu",
            runner="v1",
            kernels=None,
            isa_class=self.script.isa,
            dtype="float32",
            max_model_len=1024,
            max_num_seqs=16,
            kv_cache_tokens=None,
            k=self.k,
            has_chat_template=True,
            cores=(0,),
            threads=1,
            startup_s=0.0,
            memory=EngineMemory(
                kv_cache_bytes=KV_BYTES_PER_TOKEN * 2 * 16,
                kv_blocks=2,
                block_size=16,
                kv_cache_dtype="float32",
                weight_bytes=1,
                rss_bytes=1,
            ),
        )

    def generate(self, request: RoundRequest) -> RoundRecord:
        assert self.alive, f"{self.label} is used though it is not running"
        self.requests.append(request)
        self._fail_at(len(self.requests))
        jitter = 1 + 0.002 * (len(self.requests) % 3)
        return self.script.alter(play(request, self.k, self.script, jitter))

    def score(self, scoring: Scoring) -> tuple[tuple[TokenScore, ...], ...]:
        assert self.alive, f"{self.label} is used though it is not running"
        score = TokenScore(gap=self.script.gap)
        return tuple((score,) * (len(text.token_ids) - text.start) for text in scoring.texts)

    def _fail_at(self, number: int) -> None:
        if error := self.script.fails_at.get(number):
            self.closed = isinstance(error, EngineError) and error.fatal
            raise error


class FakeEngines:
    """All engines of a run, by scenario id; ``engines["tiny/ngram-k3"].slower = 1.3``."""

    def __init__(self) -> None:
        self.hosts: list[FakeHost] = []
        self._scripts: dict[str, Script] = {}

    def __getitem__(self, label: str) -> Script:
        return self._scripts.setdefault(label, Script())

    def __iter__(self) -> Iterator[FakeHost]:
        return iter(self.hosts)

    def host_factory(
        self,
        log_dir: Path,
        *,
        fault: Callable[[Scenario], Fault | None] = lambda scenario: None,
        **_: object,
    ) -> Callable[[Scenario], FakeHost]:
        """In place of `draftgate.measure.arms.host_factory`."""

        def make(scenario: Scenario) -> FakeHost:
            host = self.make(scenario)
            host.fault = fault(scenario)
            return host

        return make

    def make(self, scenario: Scenario) -> FakeHost:
        self.hosts.append(FakeHost(scenario, self[scenario.id]))
        return self.hosts[-1]

    @property
    def running(self) -> list[str]:
        return [host.label for host in self.hosts if host.alive]


def died(label: str, stage: str = "round") -> EngineError:
    """As the host reports a killed child."""
    return EngineError(
        label,
        stage,
        "the child was killed by SIGKILL",
        log_path=Path(f"logs/{label.replace('/', '-')}.log"),
        log_tail=LOG_TAIL,
    )


def play(request: RoundRequest, k: int, script: Script, jitter: float = 1.0) -> RoundRecord:
    """A round whose output tokens depend on the prompts alone."""
    emitted = [_emitted(len(_tokens(prompt)), k, script.accepts) for prompt in request.prompts]
    steps = max(max(map(len, emitted)), -(-sum(map(len, emitted)) // request.batch_size))
    wall = STEP_S * steps * (DRAFTING_COST if k else 1.0) * script.slower * jitter
    requests = tuple(
        _request(prompt, counts, k, script.accepts, wall)
        for prompt, counts in zip(request.prompts, emitted, strict=True)
    )
    return RoundRecord(
        batch_size=request.batch_size,
        wall_s=wall,
        steps=steps,
        requests=requests,
        counters=_counters(requests, k) if k else None,
        stages=_stages(request, k, steps, wall) if request.stages else None,
    )


def _stages(request: RoundRequest, k: int, steps: int, wall: float) -> StageSteps:
    """Steps alike, the first of which reads the prompts."""
    step_ms, size = 1000 * wall / steps, request.batch_size
    shares = {"draft": 0.2 if k else 0.0, "verify": 0.5, "sample": 0.1, "overhead": 0.2}
    total = sum(shares.values())
    times = {f"{name}_ms": (step_ms * s / total,) * steps for name, s in shares.items()}
    return StageSteps(
        clock="host",
        requests=(size,) * steps,
        batched_tokens=(size * (k + 1),) * steps,
        prefill_tokens=(size * (k + 1),) + (0,) * (steps - 1),
        kv_tokens=tuple(size * step for step in range(steps)),
        drafted_tokens=(size * k,) * steps,
        step_ms=(step_ms,) * steps,
        scopes_ms={},
        **times,
    )


def _tokens(prompt: RoundPrompt) -> tuple[int, ...]:
    digest = hashlib.sha256(prompt.text.encode()).digest()
    return tuple(digest[: 16 + digest[0] % 12])


def _accepted(step: int, k: int, accepts: tuple[int, ...]) -> int:
    return min(k, accepts[step % len(accepts)])


def _emitted(length: int, k: int, accepts: tuple[int, ...]) -> tuple[int, ...]:
    if k == 0:
        return (1,) * length
    counts = [1]
    while sum(counts) < length:
        step = _accepted(len(counts) - 1, k, accepts) + 1
        counts.append(min(step, length - sum(counts)))
    return tuple(counts)


def _request(
    prompt: RoundPrompt, emitted: tuple[int, ...], k: int, accepts: tuple[int, ...], wall: float
) -> RequestRecord:
    verifications = range(len(emitted) - 1) if k else ()
    return RequestRecord(
        prompt_id=prompt.prompt_id,
        prompt_tokens=len(prompt.text),
        prompt_token_ids=tuple(prompt.text.encode("ascii", "replace")),
        output_token_ids=_tokens(prompt),
        finish_reason="stop",
        ttft_s=0.1 * wall,
        e2e_s=0.9 * wall,
        emitted=emitted,
        drafted=tuple(k for _ in verifications),
        accepted=tuple(_accepted(step, k, accepts) for step in verifications),
    )


def _counters(requests: tuple[RequestRecord, ...], k: int) -> SpecCounters:
    accepted = [count for request in requests for count in request.accepted]
    return SpecCounters(
        drafts=len(accepted),
        draft_tokens=k * len(accepted),
        accepted_tokens=sum(accepted),
        per_position=tuple(sum(count > i for count in accepted) for i in range(k)),
    )
