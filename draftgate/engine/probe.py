"""Requests that ask for more than a timed round does, and everything the engine answers to them.

A round (`RoundRequest`) is for timing: one sampling for all, token ids and counts back. A probe is
for correctness: each request with its own sampling parameters, its own arrival and end, and back
come texts, log-probabilities, and what happened on the way.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from draftgate.engine.drafts import DraftPlan
from draftgate.engine.records import Record, SpecCounters


class Sampling(Record):
    """vLLM's `SamplingParams` by their own names; the defaults are greedy and change nothing.

    ``regex``, ``choice``, ``json_schema``: structured output, at most one of them.
    """

    max_tokens: int = Field(default=64, ge=1)
    n: int = Field(default=1, ge=1)
    temperature: float = Field(default=0.0, ge=0.0)
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    min_tokens: int = 0
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    include_stop_str_in_output: bool = False
    ignore_eos: bool = False
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    bad_words: tuple[str, ...] = ()
    logit_bias: dict[int, float] | None = None
    allowed_token_ids: tuple[int, ...] | None = None
    logprobs: int | None = None
    logprob_token_ids: tuple[int, ...] | None = None
    prompt_logprobs: int | None = None
    thinking_token_budget: int | None = None
    regex: str | None = None
    choice: tuple[str, ...] | None = None
    json_schema: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _one_structure(self) -> Sampling:
        if sum(value is not None for value in (self.regex, self.choice, self.json_schema)) > 1:
            raise ValueError("regex, choice and json_schema exclude one another: keep one")
        return self


class ProbeRequest(Record):
    """A prompt as token ids.

    ``arrives_at``: engine step of the probe before which it is added, if there is room.
    ``aborts_after``: output tokens after which it is taken away; None: it runs to its end.
    """

    request_id: str
    prompt: tuple[int, ...] = Field(min_length=1)
    sampling: Sampling = Sampling()
    arrives_at: int = Field(default=0, ge=0)
    aborts_after: int | None = Field(default=None, ge=1)


class Probe(Record):
    """Requests to run together, ``in_flight`` at once (None: as many as have arrived).

    ``drafts`` as in `RoundRequest`. ``fresh_prefix_cache``: empty the prefix cache first.
    """

    requests: tuple[ProbeRequest, ...] = Field(min_length=1)
    in_flight: int | None = Field(default=None, ge=1)
    drafts: DraftPlan | None = None
    fresh_prefix_cache: bool = True

    @model_validator(mode="after")
    def _ids_differ(self) -> Probe:
        if len({request.request_id for request in self.requests}) < len(self.requests):
            raise ValueError("request ids repeat: give each request of a probe its own")
        return self


class TokenLogprob(Record):
    """A token's log-probability and rank (1 is the likeliest), as vLLM reports them."""

    token_id: int
    logprob: float
    rank: int


Position = tuple[TokenLogprob, ...]  # the token itself first, then the likeliest ones by rank


class Completion(Record):
    """One of a request's ``n`` outputs. ``logprobs``: one `Position` a token, where asked for."""

    token_ids: tuple[int, ...]
    text: str
    finish_reason: str | None
    stop_reason: int | str | None = None
    logprobs: tuple[Position, ...] | None = None


class ProbeOutput(Record):
    """What a request got. ``aborted``: its completion is what there was by then.

    ``prompt_logprobs``: one `Position` a prompt token, empty for the first. ``cached_tokens``: of
    the prompt, found in the prefix cache.
    """

    request_id: str
    completions: tuple[Completion, ...]
    prompt_logprobs: tuple[Position, ...] | None = None
    cached_tokens: int = 0
    aborted: bool = False


class ProbeResult(Record):
    """Outputs in the order of the requests, engine steps, and how often one was preempted.

    ``counters`` is None where speculative decoding is off.
    """

    outputs: tuple[ProbeOutput, ...]
    steps: int
    preemptions: int
    counters: SpecCounters | None = None
