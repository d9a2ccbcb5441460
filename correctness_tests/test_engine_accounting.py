"""What an engine reports about its drafts is what happened to the tokens it returned."""

from __future__ import annotations

import pytest
from engines import IN_FLIGHT, MAX_MODEL_LEN, Engines, K

from draftgate.engine import DraftPlan, Probe, ProbeRequest, Recording, Sampling, SpecCounters
from draftgate.lossless.channels import AnotherFault, LawRefuted
from draftgate.lossless.equality import Text
from draftgate.lossless.known_issues import known_issue
from draftgate.lossless.whole_engine import Prompts, generate, recordings, run


def oracle(texts: list[Text]) -> DraftPlan:
    return DraftPlan(rule="oracle", recordings=recordings(texts))


def counted(probe: Probe, engines: Engines) -> SpecCounters:
    counters = engines["scripted"].probe(probe).counters
    assert counters is not None
    return counters


@pytest.mark.parametrize("right", range(K + 1))
def test_drafts_are_counted_by_position_as_they_were_accepted(
    engines: Engines, prompts: Prompts, right: int
) -> None:
    """Full windows of which so many tokens are right, every time; none crosses the outputs' end."""
    length = 1 + 4 * (right + 1)
    sampling = Sampling(max_tokens=length, ignore_eos=True)
    texts = generate(engines["none"], prompts, sampling, in_flight=IN_FLIGHT)
    longer = tuple(
        Recording(prompt=r.prompt, output=(*r.output, *[0] * K), accepted=(right,))
        for r in recordings(texts)
    )
    plan = DraftPlan(rule="oracle", recordings=longer, padded=True)
    _texts, result = run(engines["scripted"], prompts, sampling, in_flight=IN_FLIGHT, drafts=plan)
    drafts = 4 * len(prompts)
    wanted = SpecCounters(
        drafts=drafts,
        draft_tokens=K * drafts,
        accepted_tokens=right * drafts,
        per_position=(drafts,) * right + (0,) * (K - right),
    )
    if result.counters != wanted:
        raise LawRefuted(f"reported: {result.counters}, true: {wanted}", "metric")


@known_issue("L5", "v1-engine")
def test_accepted_tokens_end_with_the_text(engines: Engines, prompts: Prompts) -> None:
    """Drafts agree with the target beyond the end of sequence; no one gets those tokens."""
    on = Sampling(max_tokens=120, ignore_eos=True)
    beyond = generate(engines["none"], prompts, on, in_flight=IN_FLIGHT)
    texts, result = run(
        engines["scripted"],
        prompts,
        Sampling(max_tokens=110),
        in_flight=IN_FLIGHT,
        drafts=oracle(beyond),
    )
    counters, ended = result.counters, sum(text.finish_reason == "stop" for text in texts)
    emitted = sum(len(text.output) for text in texts)
    surplus = len(texts) + counters.drafts + counters.accepted_tokens - emitted if counters else -1
    if not ended or not 0 <= surplus <= K * ended:
        told = f"{ended} texts ended by themselves, {surplus} tokens too many are reported"
        raise AnotherFault(told, "metric")
    assert surplus == 0


@known_issue("L4", "v1-engine")
def test_a_request_keeps_its_drafts_beside_one_at_the_longest_length(
    engines: Engines, prompts: Prompts, standard: list[Text]
) -> None:
    """The oracle is always right, and the long request has no drafts: nothing can be rejected."""
    short = [
        ProbeRequest(request_id=text.name, prompt=text.prompt, sampling=Sampling(max_tokens=60))
        for text in standard[:3]
    ]
    prompt = (prompts[0][1] * 20)[: MAX_MODEL_LEN - K - 4]
    long = ProbeRequest(
        request_id="long", prompt=prompt, sampling=Sampling(max_tokens=20, ignore_eos=True)
    )
    plan = oracle(standard)
    alone = counted(Probe(requests=tuple(short), drafts=plan), engines)
    beside = counted(Probe(requests=(*short, long), drafts=plan), engines)
    if not 0 < alone.accepted_tokens == alone.draft_tokens:
        raise AnotherFault(f"the oracle alone is not always right: {alone}", "metric")
    assert beside == alone
