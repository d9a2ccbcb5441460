"""Probes and scorings in the child."""

from __future__ import annotations

from collections import Counter, deque
from typing import Any

from draftgate.engine.compat import VllmEngine
from draftgate.engine.conversions import (
    probe_output,
    refusals,
    sampling_params,
    token_gaps,
    token_scores,
)
from draftgate.engine.errors import RoundRefused
from draftgate.engine.logs import describe
from draftgate.engine.probe import Probe, ProbeOutput, ProbeRequest, ProbeResult, Sampling
from draftgate.engine.scores import Scoring, TokenScore


def run_probe(engine: VllmEngine, probe: Probe) -> ProbeResult:
    """Run a probe to its end.

    Raises:
        RoundRefused: vLLM does not take a request as it is; the engine stays usable.
    """
    engine.follow(probe.drafts)
    if probe.fresh_prefix_cache:
        engine.empty_prefix_cache()
    return _ProbeRun(engine, probe).result()


class _ProbeRun:
    """Adds, steps and aborts as a probe says."""

    def __init__(self, engine: VllmEngine, probe: Probe) -> None:
        self._engine = engine
        self._waiting = deque(sorted(probe.requests, key=lambda request: request.arrives_at))
        self._limit = probe.in_flight or len(probe.requests)
        self._order = [request.request_id for request in probe.requests]
        self._in_flight: dict[str, ProbeRequest] = {}
        self._outputs: dict[str, ProbeOutput] = {}
        self._preemptions = 0

    def result(self) -> ProbeResult:
        steps, before = 0, self._engine.counters()
        self._engine.observe_core(self._count_preemptions)
        try:
            while self._waiting or self._in_flight:
                self._add_arrived(steps)
                for output in self._engine.step_outputs():
                    self._take(output)
                steps += 1
        except BaseException:
            self._engine.abort(list(self._in_flight))
            raise
        finally:
            self._engine.observe_core(None)
        return ProbeResult(
            outputs=tuple(self._outputs[name] for name in self._order),
            steps=steps,
            preemptions=self._preemptions,
            counters=after.since(before) if (after := self._engine.counters()) and before else None,
        )

    def _add_arrived(self, step: int) -> None:
        while self._waiting and len(self._in_flight) < self._limit:
            request = self._waiting[0]
            if request.arrives_at > step and self._in_flight:
                return
            self._waiting.popleft()
            _add(self._engine, request)
            self._in_flight[request.request_id] = request

    def _take(self, output: Any) -> None:
        request = self._in_flight.get(output.request_id)
        if request is None:  # aborted before
            return
        length = max(len(completion.token_ids) for completion in output.outputs)
        abort = request.aborts_after is not None and length >= request.aborts_after
        if output.finished or abort:
            aborted = not output.finished
            if aborted:
                self._engine.abort([output.request_id])
            self._outputs[output.request_id] = probe_output(output, aborted=aborted)
            del self._in_flight[output.request_id]

    def _count_preemptions(self, outputs: Any) -> None:
        for output in outputs.outputs:
            kinds = Counter(event.type.name for event in output.events or ())
            self._preemptions += kinds["PREEMPTED"]


def _add(engine: VllmEngine, request: ProbeRequest) -> str:
    """Queue a request; the id that the engine core's outputs bear."""
    if len(request.prompt) >= engine.max_model_len:
        raise RoundRefused(
            f"request {request.request_id!r} has a prompt of {len(request.prompt)} tokens and "
            f"max_model_len is {engine.max_model_len}, which must hold the output too"
        )
    try:
        params = sampling_params(request.sampling, cumulative=request.aborts_after is not None)
        return engine.add(request.request_id, engine.prepare(list(request.prompt)), params)
    except refusals() as error:
        raise RoundRefused(f"request {request.request_id!r}: {describe(error)}") from error


def score(engine: VllmEngine, scoring: Scoring) -> tuple[tuple[TokenScore, ...], ...]:
    """Scores of each text's tokens from its start on.

    Takes what the engine core reports before vLLM makes an object of each vocabulary entry.

    Raises:
        RoundRefused: a text as long as max_model_len; the engine stays usable.
    """
    engine.follow(None)
    starts = {str(index): text.start for index, text in enumerate(scoring.texts)}
    found: dict[str, tuple[TokenScore, ...]] = {}
    names: dict[str, str] = {}  # the engine core's id -> ours

    def take(outputs: Any) -> None:
        for output in outputs.outputs:
            tensors, output.new_prompt_logprobs_tensors = output.new_prompt_logprobs_tensors, None
            if tensors is not None:
                name = names[output.request_id]
                found[name] = (
                    token_gaps(tensors, starts[name])
                    if scoring.gaps_only
                    else token_scores(tensors, starts[name], scoring.temperature)
                )

    engine.observe_core(take)
    try:
        for name, text in zip(starts, scoring.texts, strict=True):
            request = ProbeRequest(
                request_id=name,
                prompt=text.token_ids,
                sampling=Sampling(max_tokens=1, prompt_logprobs=1 if scoring.gaps_only else -1),
            )
            names[_add(engine, request)] = name
        finished = 0
        while finished < len(starts):
            finished += sum(output.finished for output in engine.step_outputs())
    except BaseException:
        engine.abort(list(starts))
        raise
    finally:
        engine.observe_core(None)
    return tuple(found[name] for name in starts)
