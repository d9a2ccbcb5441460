"""Everything that makes a scheduler's life hard, at once, changes no token.

The engines ``...+stress`` take prompts in chunks of 48 tokens, find prefixes in a cache, and have a
KV cache too small for the batch, so that requests are preempted and computed again. What standard
decoding says without all that is the measure.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from drafting import accepts_some
from engines import MAX_MODEL_LEN, Engines

from draftgate.engine import DraftPlan, Probe, ProbeRequest, ProbeResult, Sampling
from draftgate.lossless.equality import Text
from draftgate.lossless.probe_equality import differences
from draftgate.lossless.whole_engine import Prompts, recordings

ARMS = ["scripted", pytest.param("eagle3", marks=pytest.mark.slow)]
TOGETHER = 8


def compare(
    engines: Engines,
    arm: str,
    requests: Sequence[ProbeRequest],
    texts: Sequence[Text] = (),
    **probe: bool,
) -> ProbeResult:
    """The stressed arm's answer, which must be that of standard decoding without stress."""
    wanted = Probe(requests=tuple(requests), in_flight=TOGETHER)
    control = engines["none"].probe(wanted)
    drafts = None
    if arm == "scripted":
        drafts = DraftPlan(rule="ragged", recordings=recordings(texts))
    found = engines[f"{arm}+stress"].probe(wanted.model_copy(update={"drafts": drafts, **probe}))
    assert differences(control, found) == ()
    accepts_some(found.counters)
    return found


def requests_of(prompts: Prompts, sampling: Sampling) -> list[ProbeRequest]:
    return [
        ProbeRequest(request_id=name, prompt=prompt, sampling=sampling) for name, prompt in prompts
    ]


@pytest.mark.parametrize("arm", ARMS)
def test_preemption_and_chunked_prefill(
    engines: Engines, prompts: Prompts, standard: list[Text], arm: str
) -> None:
    found = compare(engines, arm, requests_of(prompts, Sampling(max_tokens=100)), standard)
    assert found.preemptions > 0


@pytest.mark.parametrize("arm", ARMS)
def test_cached_prefixes(
    engines: Engines, prompts: Prompts, standard: list[Text], arm: str
) -> None:
    """A prompt's second run finds the prompt's blocks; a conversation's second turn also those of
    the first answer, in which rejected drafts were written."""
    longest = sorted(prompts, key=lambda prompt: len(prompt[1]))[-2:]
    requests = requests_of(longest, Sampling(max_tokens=40))
    compare(engines, arm, requests, standard)
    warm = compare(engines, arm, requests, standard, fresh_prefix_cache=False)
    assert all(output.cached_tokens > 0 for output in warm.outputs)
    turns = [
        request.model_copy(update={"prompt": request.prompt + output.completions[0].token_ids})
        for request, output in zip(requests, warm.outputs, strict=True)
    ]
    second = compare(engines, arm, turns, standard, fresh_prefix_cache=False)
    for request, output in zip(requests, second.outputs, strict=True):
        assert output.cached_tokens > len(request.prompt)


@pytest.mark.parametrize("arm", ARMS)
def test_outputs_up_to_the_longest_length(
    engines: Engines, prompts: Prompts, standard: list[Text], arm: str
) -> None:
    """One after the other reaches max_model_len, with others far from it in the same batch."""
    end = MAX_MODEL_LEN
    requests = [
        ProbeRequest(
            request_id=f"{name} to {end}",
            prompt=(prompt * 20)[: end - 3 - 4 * index] if index < 3 else prompt,
            sampling=Sampling(max_tokens=60, ignore_eos=True),
        )
        for index, (name, prompt) in enumerate(prompts)
    ]
    found = compare(engines, arm, requests, standard)
    for request, output in list(zip(requests, found.outputs, strict=True))[:3]:
        (completion,) = output.completions
        assert len(request.prompt) + len(completion.token_ids) == end
        assert completion.finish_reason == "length"


@pytest.mark.parametrize("arm", ARMS)
def test_one_long_request_with_many_short_ones(
    engines: Engines, prompts: Prompts, standard: list[Text], arm: str
) -> None:
    (name, prompt), *others = prompts
    long = ProbeRequest(
        request_id=name,
        prompt=prompt,
        sampling=Sampling(max_tokens=150, ignore_eos=True),
    )
    short = [
        ProbeRequest(
            request_id=f"{other} {copy}",
            prompt=ids[-20:],
            sampling=Sampling(max_tokens=4 + copy),
            arrives_at=7 * copy,
        )
        for copy in range(3)
        for other, ids in others
    ]
    compare(engines, arm, [long, *short], standard)
