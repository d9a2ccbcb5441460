"""Log-probabilities of every kind that an engine can be set to report (``logprobs_mode``).

``raw`` ones are the model's own, ``processed`` ones those that the token was chosen by; ``logits``
are not normalised. With drafts they come from rows of right, wrong and bonus tokens.
"""

from __future__ import annotations

import math

import pytest
from drafting import accepts_some
from engines import HOT, Engines

from draftgate.engine import (
    DraftPlan,
    Probe,
    ProbeRequest,
    ProbeResult,
    Sampling,
    ScoredText,
    Scoring,
)
from draftgate.lossless.equality import Text
from draftgate.lossless.probe_equality import LOGPROB_TOLERANCE, differences
from draftgate.lossless.whole_engine import Prompts, recordings

GREEDY = Sampling(max_tokens=40, frequency_penalty=0.5, logprobs=3)
SAMPLED = Sampling(temperature=HOT, max_tokens=40, ignore_eos=True, logprobs=0)
MODES = [
    "processed_logprobs",
    *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("raw_logits", "processed_logits")),
]


def mixed(prompts: Prompts) -> Probe:
    """A penalised greedy request and a sampled one of each prompt."""
    requests = tuple(
        ProbeRequest(request_id=f"{name} {kind}", prompt=ids, sampling=sampling)
        for name, ids in prompts
        for kind, sampling in (("greedy", GREEDY), ("sampled", SAMPLED))
    )
    return Probe(requests=requests, in_flight=8)


def with_drafts(probe: Probe, standard: list[Text]) -> Probe:
    plan = DraftPlan(rule="ragged", recordings=recordings(standard))
    return probe.model_copy(update={"drafts": plan})


def only(result: ProbeResult, kind: str) -> ProbeResult:
    outputs = tuple(o for o in result.outputs if o.request_id.endswith(kind))
    return result.model_copy(update={"outputs": outputs})


@pytest.mark.parametrize("mode", MODES)
def test_greedy_requests_are_told_what_standard_decoding_tells(
    engines: Engines, prompts: Prompts, standard: list[Text], mode: str
) -> None:
    probe = mixed(prompts)
    control = engines[f"none+{mode}"].probe(probe)
    found = engines[f"scripted+{mode}"].probe(with_drafts(probe, standard))
    assert differences(only(control, "greedy"), only(found, "greedy")) == ()
    accepts_some(found.counters)


@pytest.mark.parametrize(
    ("engine", "temperature"), [("scripted", 1.0), ("scripted+processed_logprobs", HOT)]
)
def test_sampled_requests_are_told_what_their_tokens_had(
    engines: Engines, prompts: Prompts, standard: list[Text], engine: str, temperature: float
) -> None:
    probe = mixed(prompts)
    found = engines[engine].probe(with_drafts(probe, standard))
    answers = [
        (request.prompt, output.completions[0])
        for request, output in zip(probe.requests, found.outputs, strict=True)
        if output.request_id.endswith("sampled")
    ]
    texts = tuple(
        ScoredText(token_ids=prompt + answer.token_ids, start=len(prompt))
        for prompt, answer in answers
    )
    scores = engines["none"].score(Scoring(texts=texts, temperature=temperature))
    for (_prompt, answer), expected in zip(answers, scores, strict=True):
        assert answer.logprobs is not None
        told = [position[0].logprob for position in answer.logprobs]
        assert told == pytest.approx([math.log(s.mass) for s in expected], abs=LOGPROB_TOLERANCE)
