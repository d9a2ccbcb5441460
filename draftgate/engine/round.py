"""A timed round in the child: the loop of `LLM.generate`, with the batch kept full."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from draftgate.engine.compat import (
    FinishedRequest,
    IncompatibleVllm,
    VllmEngine,
    vllm_version,
)
from draftgate.engine.errors import RoundRefused
from draftgate.engine.protocol import RoundPrompt, RoundRequest
from draftgate.engine.records import RequestRecord, RoundRecord, SpecCounters, StageSteps
from draftgate.engine.stages.timer import start_in_worker, stop_in_worker

ProgressCallback = Callable[[int, int], None]


@dataclass(slots=True)
class _Request:
    """A request from its preparation to its end; times are `time.perf_counter` seconds."""

    request_id: str
    prompt_id: str
    prompt_token_ids: list[int]
    copy: int
    engine_input: Any
    sampling: Any
    added_at: float = 0.0
    first_at: float = 0.0
    finished_at: float = 0.0
    emitted: list[int] = field(default_factory=list)
    result: FinishedRequest | None = None

    def record(self) -> RequestRecord:
        assert self.result is not None
        return RequestRecord(
            prompt_id=self.prompt_id,
            prompt_tokens=len(self.prompt_token_ids),
            prompt_token_ids=() if self.copy else tuple(self.prompt_token_ids),
            output_token_ids=self.result.token_ids,
            finish_reason=self.result.finish_reason,
            ttft_s=self.first_at - self.added_at,
            e2e_s=self.finished_at - self.added_at,
            emitted=tuple(self.emitted),
            drafted=self.result.drafted,
            accepted=self.result.accepted,
        )


class _Loop:
    """Feeds the engine and notes what each step yields."""

    def __init__(self, engine: VllmEngine, batch_size: int, on_finish: Callable[[], None]) -> None:
        self.steps = 0
        self._engine = engine
        self._batch_size = batch_size
        self._on_finish = on_finish
        self._by_engine_id: dict[str, _Request] = {}
        self._in_flight: dict[str, _Request] = {}

    def observe(self, now: float, new_tokens: Iterable[tuple[str, int]]) -> None:
        """One engine step; called between the model's work and the building of outputs."""
        self.steps += 1
        for engine_id, count in new_tokens:
            request = self._by_engine_id[engine_id]
            if not request.emitted:
                request.first_at = now
            request.emitted.append(count)

    def run(self, requests: Iterable[_Request]) -> None:
        """Run ``requests`` with at most the batch size in flight, until all have finished."""
        waiting = deque(requests)
        while waiting or self._in_flight:
            while waiting and len(self._in_flight) < self._batch_size:
                self._add(waiting.popleft())
            for result in self._engine.step():
                self._finish(result)

    def _add(self, request: _Request) -> None:
        request.added_at = time.perf_counter()
        engine_id = self._engine.add(request.request_id, request.engine_input, request.sampling)
        self._by_engine_id[engine_id] = request
        self._in_flight[request.request_id] = request

    def _finish(self, result: FinishedRequest) -> None:
        if result.finish_reason not in ("stop", "length"):
            raise RuntimeError(
                f"request {result.request_id} ended with finish_reason {result.finish_reason!r}"
            )
        request = self._in_flight.pop(result.request_id)
        request.finished_at = time.perf_counter()
        request.result = result
        self._on_finish()


def run_round(
    engine: VllmEngine, request: RoundRequest, on_progress: ProgressCallback
) -> RoundRecord:
    """Run one round; the clock starts with the prompts tokenised.

    ``on_progress`` gets (finished, total) as requests finish.

    Raises:
        RoundRefused: a prompt that leaves no room for output, a draft plan for an engine that
            takes none; nothing was run.
    """
    engine.follow(request.drafts)
    waves = _waves(engine, request)
    done = 0

    def count() -> None:
        nonlocal done
        done += 1
        on_progress(done, request.total_requests)

    loop = _Loop(engine, request.batch_size, count)
    before = engine.counters()
    engine.observe_steps(loop.observe)
    timer = _StageTimer(engine, wanted=request.stages)
    try:
        with timer.running():
            start = time.perf_counter()
            for wave in waves:
                loop.run(wave)
            wall_s = time.perf_counter() - start
    finally:
        engine.observe_steps(None)
    return RoundRecord(
        batch_size=request.batch_size,
        wall_s=wall_s,
        steps=loop.steps,
        requests=tuple(item.record() for wave in waves for item in wave),
        counters=_difference(engine.counters(), before),
        stages=timer.steps,
    )


@dataclass
class _StageTimer:
    """The engine's stage timer, where it is wanted; ``steps`` is there after `running`."""

    engine: VllmEngine
    wanted: bool
    steps: StageSteps | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        if not self.wanted:
            yield
            return
        self._start()
        try:
            yield
        finally:
            self.steps = self.engine.on_first_worker(stop_in_worker)

    def _start(self) -> None:
        try:
            self.engine.on_first_worker(start_in_worker, self.engine.host_parts())
        except (AttributeError, IncompatibleVllm) as error:
            raise RoundRefused(
                f"vLLM {vllm_version()} cannot be timed by stage: {error}; adapt "
                "draftgate/engine/stages/timer.py, or set stages = false in the profile's [plan]"
            ) from error


def _waves(engine: VllmEngine, request: RoundRequest) -> list[list[_Request]]:
    """Requests that may be in flight together: all (mixed), or one prompt's copies (replicated)."""
    replicated = request.batch_mode == "replicated"
    copies = range(request.batch_size if replicated else 1)
    tokenised = [_tokenise(engine, prompt) for prompt in request.prompts]
    by_prompt = [
        [_request(engine, request, index, copy, token_ids) for copy in copies]
        for index, token_ids in enumerate(tokenised)
    ]
    return by_prompt if replicated else [list(chain.from_iterable(by_prompt))]


def _tokenise(engine: VllmEngine, prompt: RoundPrompt) -> list[int]:
    token_ids = engine.tokenize(prompt.text)
    if len(token_ids) >= engine.max_model_len:
        raise RoundRefused(
            f"prompt {prompt.prompt_id!r} has {len(token_ids)} tokens with the chat template and "
            f"max_model_len is {engine.max_model_len}, which must hold the output too: "
            f"leave the prompt out, shorten it, or raise the target's max_model_len"
        )
    return token_ids


def _request(
    engine: VllmEngine, request: RoundRequest, index: int, copy: int, token_ids: list[int]
) -> _Request:
    # Greedy requests go unseeded: a seed would give each its own generator for nothing.
    seed = None if request.temperature == 0 else request.seed + index * request.batch_size + copy
    return _Request(
        request_id=f"{index}.{copy}",
        prompt_id=request.prompts[index].prompt_id,
        prompt_token_ids=token_ids,
        copy=copy,
        engine_input=engine.prepare(token_ids),
        sampling=engine.sampling(
            max_tokens=request.max_tokens, temperature=request.temperature, seed=seed
        ),
    )


def _difference(after: SpecCounters | None, before: SpecCounters | None) -> SpecCounters | None:
    return None if after is None or before is None else after.since(before)
