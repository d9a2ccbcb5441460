"""Whatever a request asks for, speculative decoding answers as standard decoding does.

`draftgate.lossless.features` lists what is asked. Drafts are scripted: all right, so that stops,
ends and limits fall inside windows, with junk behind them; and ragged, so that some rows of a batch
are rejected while others are not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from drafting import accepts_some
from engines import IN_FLIGHT, THINKING_BEGINS, Engines, K

from draftgate.engine import (
    DraftPlan,
    EngineError,
    Probe,
    ProbeRequest,
    ProbeResult,
    Recording,
    Sampling,
)
from draftgate.engine.probe import ProbeOutput
from draftgate.engine.records import first_difference
from draftgate.lossless.channels import AnotherFault
from draftgate.lossless.equality import Text
from draftgate.lossless.features import (
    FEATURES,
    LEAST_LENGTH_AT_END,
    NAMED_LOGPROBS,
    REFUSED,
)
from draftgate.lossless.known_issues import known_issue
from draftgate.lossless.probe_equality import differences

FULL_STOP = 18  # token id
END_OF_PHRASE = 6  # tokens of "</think>"
Known = Callable[[ProbeRequest, tuple[int, ...], int], bool]
RULES = {
    "oracle": DraftPlan(rule="oracle", padded=True),
    "ragged": DraftPlan(rule="ragged"),
}


def played(control: ProbeResult, requests: Sequence[ProbeRequest], rule: str) -> DraftPlan:
    """Drafts that play what standard decoding answered to the same requests."""
    recordings = [
        Recording(prompt=request.prompt, output=completion.token_ids)
        for request, output in zip(requests, control.outputs, strict=True)
        for completion in output.completions
    ]
    return RULES[rule].model_copy(update={"recordings": tuple(recordings)})


def check(
    engines: Engines,
    requests: tuple[ProbeRequest, ...],
    rule: str,
    engine: str = "scripted",
    control: str = "none",
) -> None:
    """Compare with standard decoding."""
    standard, found = answers(engines, requests, rule, engine, control)
    assert differences(standard, found) == ()
    accepts_some(found.counters)


def answers(
    engines: Engines, requests: tuple[ProbeRequest, ...], rule: str, engine: str, control: str
) -> tuple[ProbeResult, ProbeResult]:
    """Standard decoding's, and those with drafts that play them."""
    probe = Probe(requests=requests, in_flight=IN_FLIGHT)
    standard = engines[control].probe(probe)
    plan = played(standard, requests, rule)
    return standard, engines[engine].probe(probe.model_copy(update={"drafts": plan}))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("feature", FEATURES)
def test_feature(engines: Engines, standard: list[Text], feature: str, rule: str) -> None:
    check(engines, FEATURES[feature](standard), rule)


@pytest.mark.parametrize("feature", ["logprobs", "prompt-logprobs", "regex", "frequency-penalty"])
def test_feature_beside_chunks_of_prompts(
    engines: Engines, standard: list[Text], feature: str
) -> None:
    """Rows that sample nothing yet stand between those that do; some requests start over."""
    check(engines, FEATURES[feature](standard), "ragged", "scripted+stress")


@pytest.mark.parametrize("feature", REFUSED)
def test_what_draft_rows_cannot_obey_is_refused(
    engines: Engines, standard: list[Text], feature: str
) -> None:
    probe = Probe(requests=REFUSED[feature](standard)[:1])
    with pytest.raises(EngineError, match="not yet supported with speculative decoding") as caught:
        engines["scripted"].probe(probe)
    assert not caught.value.fatal
    assert engines["none"].probe(probe).outputs


@known_issue("L3", "v1-engine")
def test_least_length_that_ends_where_the_text_does(engines: Engines, standard: list[Text]) -> None:
    """``min_tokens`` is reached by accepted drafts, and the end is the bonus token behind them."""
    requests = LEAST_LENGTH_AT_END(standard)
    probe = Probe(requests=requests, in_flight=IN_FLIGHT)
    control = engines["none"].probe(probe)
    drafts = played(control, requests, "oracle")
    wrong = []
    for length in range(1, K + 1):
        plan = drafts.model_copy(update={"length": length})
        found = engines["scripted"].probe(probe.model_copy(update={"drafts": plan}))
        accepts_some(found.counters, AnotherFault)
        wrong += [o for o in map(ended_late, control.outputs, found.outputs) if o is not None]
    assert not any(wrong)


def ended_late(control: ProbeOutput, found: ProbeOutput) -> bool | None:
    """Whether only the end of an output is missing; None where nothing is. Fails where it is
    another fault than the known one."""
    (theirs,), (ours,) = control.completions, found.completions
    if ours.token_ids == theirs.token_ids:
        return None
    ended = len(theirs.token_ids) - 1
    if theirs.finish_reason != "stop" or ours.token_ids[:ended] != theirs.token_ids[:ended]:
        raise AnotherFault(f"{control.request_id}: {ours.token_ids}, not {theirs.token_ids}")
    return True


@known_issue("L15", "v1-engine")
def test_logprobs_of_named_tokens(engines: Engines, standard: list[Text]) -> None:
    """By the known fault none are reported to a request that asks for no others."""
    requests = NAMED_LOGPROBS(standard)
    control, found = answers(engines, requests, "oracle", "scripted", "none")
    accepts_some(found.counters, AnotherFault)
    bare = found.model_copy(update={"outputs": tuple(map(without_logprobs, found.outputs))})
    for ours, theirs in zip(control.outputs, bare.outputs, strict=True):
        if without_logprobs(ours) != theirs:
            raise AnotherFault(f"{ours.request_id}: another text")
    assert differences(control, found) == ()


@known_issue("L15", "v1-engine")
def test_logprobs_of_named_tokens_beside_others(engines: Engines, standard: list[Text]) -> None:
    """By the known fault the engine dies of a request that asks for the best ones as well."""
    named, *others = NAMED_LOGPROBS(standard)[1:4]
    both = named.sampling.model_copy(update={"logprob_token_ids": (5, 9, 18), "logprobs": 3})
    requests = (named.model_copy(update={"sampling": both}), *others)
    try:
        control, found = answers(engines, requests, "oracle", "scripted", "none")
    except EngineError as error:
        if "shape mismatch" not in str(error):
            raise AnotherFault(str(error)) from error
        raise AssertionError("no answer, and no engine any more") from error
    assert differences(control, found) == ()


def without_logprobs(output: ProbeOutput) -> ProbeOutput:
    completions = tuple(c.model_copy(update={"logprobs": None}) for c in output.completions)
    return output.model_copy(update={"completions": completions})


@pytest.mark.parametrize("rule", RULES)
def test_thinking_budget(engines: Engines, standard: list[Text], rule: str) -> None:
    """Thinking begins with the reply, and one token ends it at each place of a window."""
    check(engines, thinking(standard), rule, "scripted+thinking", "none+thinking")


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("feature", ["choice", "regex"])
def test_grammar_that_begins_behind_the_thinking(
    engines: Engines, standard: list[Text], feature: str, rule: str
) -> None:
    """The full stop that ends it stands in the middle of a window, which is bound from there on."""
    requests = tuple(
        request.model_copy(update={"prompt": (*request.prompt, THINKING_BEGINS)})
        for request in FEATURES[feature](standard)
    )
    check(engines, requests, rule, "scripted+thinks-first", "none+thinks-first")


@known_issue("L13", "v1-engine")
@pytest.mark.parametrize("rule", RULES)
def test_thinking_that_several_tokens_end(
    engines: Engines, standard: list[Text], rule: str
) -> None:
    """By the known fault the text parts within the words that end it, behind the first of them."""

    def known(request: ProbeRequest, _written: tuple[int, ...], place: int) -> bool:
        budget = request.sampling.thinking_token_budget
        return budget is not None and budget < place < budget + END_OF_PHRASE

    check_but_for(engines, thinking(standard), rule, "phrase", known)


@known_issue("L14", "v1-engine")
@pytest.mark.parametrize("rule", RULES)
def test_thinking_that_begins_within_a_window(
    engines: Engines, standard: list[Text], rule: str
) -> None:
    """Every new line begins thinking. By the known fault it goes on where its budget is spent."""

    def known(_request: ProbeRequest, written: tuple[int, ...], place: int) -> bool:
        return written[place : place + 1] == (FULL_STOP,)

    check_but_for(engines, thinking(standard, begins=()), rule, "lines", known)


def check_but_for(
    engines: Engines, requests: tuple[ProbeRequest, ...], rule: str, mode: str, known: Known
) -> None:
    """Compare with standard decoding; a text that parts where ``known`` says no has another fault.

    ``known``: of a request, what standard decoding wrote, and the index where the texts part.
    """
    control, found = answers(engines, requests, rule, f"scripted+{mode}", f"none+{mode}")
    accepts_some(found.counters, AnotherFault)
    for request, ours, theirs in zip(requests, control.outputs, found.outputs, strict=True):
        written = ours.completions[0].token_ids
        place = first_difference(written, theirs.completions[0].token_ids)
        if place is not None and not known(request, written, place):
            raise AnotherFault(f"{request.request_id}: parted at {place} of {written}")
    assert differences(control, found) == ()


def thinking(
    texts: Sequence[Text], begins: tuple[int, ...] = (THINKING_BEGINS,)
) -> tuple[ProbeRequest, ...]:
    """Requests with budgets from none to longer than what is thought."""
    return tuple(
        ProbeRequest(
            request_id=f"{text.name} {budget}",
            prompt=text.prompt + begins,
            sampling=Sampling(max_tokens=48, thinking_token_budget=budget),
        )
        for index, text in enumerate(texts)
        for budget in (index, 3 * index + 9)
    )


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["ngram", "draft_model", "eagle", "eagle3"])
@pytest.mark.parametrize("feature", FEATURES)
def test_feature_with_other_proposers(
    engines: Engines, standard: list[Text], feature: str, variant: str
) -> None:
    probe = Probe(requests=FEATURES[feature](standard), in_flight=IN_FLIGHT)
    control = engines["none"].probe(probe)
    assert differences(control, engines[variant].probe(probe)) == ()
