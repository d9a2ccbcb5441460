"""Sampled output of a whole engine is distributed as the target's own, whatever was drafted.

One number a token: its randomised probability integral transform under the distribution that
standard decoding has at that very prefix (`draftgate.lossless.pit`). Each test prints how large a
displacement it would have found.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat

import numpy as np
import pytest
from drafting import accepts_some
from engines import HOT, MAX_MODEL_LEN, MAX_TOKENS, Engines

from draftgate.engine import (
    DraftPlan,
    EngineError,
    EngineHost,
    Probe,
    ProbeRequest,
    Sampling,
    ScoredText,
    Scoring,
)
from draftgate.lossless.channels import AnotherFault, LawRefuted
from draftgate.lossless.equality import Text
from draftgate.lossless.known_issues import known_issue
from draftgate.lossless.pit import Calibration
from draftgate.lossless.views import View
from draftgate.lossless.whole_engine import (
    Prompts,
    generate,
    greedy_equality,
    recordings,
    run,
    sampled,
    sampled_calibration,
)
from draftgate.testbed.corpus import evaluation

Calibrated = Callable[[str, Calibration], None]

TOKENS = 200  # of each request, past its end
RAGGED = DraftPlan(rule="ragged")
SAMPLED = Sampling(temperature=HOT, max_tokens=TOKENS, ignore_eos=True)
END = 2
DIGITS = {"1": 21, "3": 23, "5": 25}  # token ids


def calibration(
    engines: Engines,
    variant: str,
    prompts: Prompts,
    drafts: DraftPlan | None = None,
    temperature: float = 1.0,
) -> Calibration:
    texts, result = sampled(
        engines[variant],
        prompts,
        temperature=temperature,
        tokens=TOKENS,
        in_flight=8,
        drafts=drafts,
    )
    found = sampled_calibration(texts, engines["none"], temperature=temperature)
    if variant != "none":
        accepts_some(result.counters)
    return found


@pytest.mark.parametrize("temperature", [HOT, 1.0])
def test_scripted_drafts(
    engines: Engines,
    prompts: Prompts,
    standard: list[Text],
    temperature: float,
    calibrated: Calibrated,
) -> None:
    """Windows of all lengths in one batch, of right, wrong and improbable tokens."""
    plan = RAGGED.model_copy(update={"recordings": recordings(standard)})
    found = calibration(engines, "scripted", prompts * 2, plan, temperature)
    calibrated(f"scripted at {temperature}", found)


@pytest.mark.parametrize(
    "variant",
    [
        "eagle3",
        "draft_model-sampling",
        "draft_model-sampling-dynamic",
        *(pytest.param(v, marks=pytest.mark.slow) for v in ("ngram", "draft_model", "eagle")),
    ],
)
def test_trained_and_training_free_proposers(
    engines: Engines, prompts: Prompts, variant: str, calibrated: Calibrated
) -> None:
    found = calibration(engines, variant, prompts * 2, temperature=HOT)
    calibrated(variant, found)


def test_drawn_drafts_beside_chunks_of_prompts(
    engines: Engines, prompts: Prompts, calibrated: Calibrated
) -> None:
    """Rows that draft stand between rows that do not yet, and requests start over.

    Without seeds, because of L11.
    """
    engine = engines["draft_model-sampling+stress"]
    texts, result = sampled(
        engine, prompts * 2, temperature=HOT, tokens=TOKENS, in_flight=8, seeded=False
    )
    assert result.preemptions > 0
    accepts_some(result.counters)
    found = sampled_calibration(texts, engines["none"], temperature=HOT)
    calibrated("chunks", found)


@pytest.mark.parametrize("variant", ["scripted", "draft_model-sampling"])
def test_greedy_requests_beside_sampled_ones(
    engines: Engines, prompts: Prompts, standard: list[Text], variant: str, calibrated: Calibrated
) -> None:
    """Each kind is verified by its own rule in the rows of one batch."""
    scripted = RAGGED.model_copy(update={"recordings": recordings(standard)})
    texts, _ = run(
        engines[variant],
        [prompt for prompt in prompts for _kind in ("greedy", "sampled")],
        lambda index: SAMPLED if index % 2 else Sampling(max_tokens=MAX_TOKENS),
        in_flight=8,
        drafts=scripted if variant == "scripted" else None,
    )
    equality = greedy_equality(standard, texts[::2], engines["none"], max_model_len=MAX_MODEL_LEN)
    assert equality.holds, str(equality)
    found = sampled_calibration(texts[1::2], engines["none"], temperature=HOT)
    calibrated(variant, found)


@pytest.mark.slow
def test_standard_decoding_passes_its_own_test(
    engines: Engines, prompts: Prompts, calibrated: Calibrated
) -> None:
    found = calibration(engines, "none", prompts * 2, temperature=HOT)
    calibrated("none", found)


@known_issue("L1")
def test_installed_engine(engines: Engines, prompts: Prompts, calibrated: Calibrated) -> None:
    """What a user of this vLLM gets, without the repair that the other tests run with."""
    found = calibration(engines, "scripted+installed", prompts * 2, RAGGED, temperature=0.6)
    calibrated("installed", found)


@pytest.mark.parametrize("variant", ["scripted", "eagle3"])
def test_seeded_request_gets_the_same_tokens_in_any_company(
    engines: Engines, prompts: Prompts, variant: str
) -> None:
    assert_reproducible(engines[variant], prompts, RAGGED if variant == "scripted" else None)


@known_issue("L11", "v1-engine")
def test_seeded_request_whose_prompt_is_taken_in_chunks(engines: Engines, prompts: Prompts) -> None:
    """No speculation is needed: the generator of a row that samples nothing is turned back."""
    name, prompt = max(prompts, key=lambda named: len(named[1]))
    request = ProbeRequest(
        request_id=name, prompt=prompt, sampling=Sampling(temperature=1.0, seed=7, max_tokens=8)
    )
    try:
        found = engines["none+stress"].probe(Probe(requests=(request,)))
    except EngineError as error:
        if "does not use offset" not in str(error):
            raise AnotherFault(str(error)) from error
        raise AssertionError("no answer, and no engine any more") from error
    assert found.outputs == engines["none"].probe(Probe(requests=(request,))).outputs


def test_drafts_that_the_target_itself_would_draw_are_all_accepted(
    engines: Engines, prompts: Prompts
) -> None:
    """The target is its own draft model: p is q where both know the request's temperature."""
    requests = tuple(
        ProbeRequest(
            request_id=f"{name} {copy}",
            prompt=prompt,
            sampling=Sampling(
                temperature=1 + index / 8, max_tokens=3 + (5 * index + copy) % 17, ignore_eos=True
            ),
        )
        for copy in range(4)
        for index, (name, prompt) in enumerate(prompts)
    )
    found = engines["own-draft-sampling"].probe(Probe(requests=requests, in_flight=8)).counters
    assert found is not None
    assert found.draft_tokens > 200
    if found.accepted_tokens < 0.995 * found.draft_tokens:
        raise LawRefuted(f"drafts rejected that cannot be: {found}", "acceptance")


@known_issue("L9", "v1-engine")
def test_seeded_request_gets_the_same_tokens_with_drafts_that_are_drawn(
    engines: Engines, prompts: Prompts
) -> None:
    assert_reproducible(engines["draft_model-sampling"], prompts)


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        ("draft_model", "35"),  # it drafts the 1, always
        pytest.param("draft_model-sampling", "13", marks=known_issue("L12", "v1-engine")),
    ],
)
def test_drafts_that_a_grammar_forbids(
    engines: Engines, follows: Callable[..., None], variant: str, words: str
) -> None:
    """One of two digits must come, which the draft model does not like as the target does.

    A draft that is some other token is dropped. That says nothing about the text where drafts are
    certain; where they are drawn it does (``test_law.py``).
    """
    prompt, space = fork_in_the_road(engines["none"])
    digits = tuple(DIGITS[word] for word in words)
    sampling = Sampling(
        temperature=HOT,
        max_tokens=4,
        choice=tuple(f" {word}" for word in words),
        allowed_token_ids=(space, *digits, END),  # no choice but between the digits
    )
    asked = list(repeat(("digit", prompt), 1200))
    texts, found = run(engines[variant], asked, sampling, in_flight=8)
    if found.counters is None or found.counters.draft_tokens >= len(texts):
        raise AnotherFault(f"no draft was forbidden: {found.counters}", "acceptance")
    chosen = [text.output[1] for text in texts]
    if not set(chosen) <= set(digits):
        raise AnotherFault(f"none of {digits}: {set(chosen)}")
    counts = np.array([chosen.count(digit) for digit in digits])
    # By the law 0.68 of 3 and 5, 0.50 of 1 and 3, and with L12 0.67 of these.
    if not 0.45 < counts[0] / counts.sum() < 0.75:
        raise AnotherFault(f"displaced otherwise than by dropped drafts: {counts}")
    mass = masses(engines["none"], (*prompt, space), digits)
    follows(variant, View(counts, mass / mass.sum()))


def test_drawn_drafts_of_requests_that_change_rows(
    engines: Engines, prompts: Prompts, follows: Callable[..., None]
) -> None:
    """Between its draft and the verification a request moves to the row of one that has ended.

    Each draft must be weighed with the distribution that it was drawn from.
    """
    prompt, space = fork_in_the_road(engines["none"])
    digits = (DIGITS["1"], DIGITS["3"])
    sampling = Sampling(temperature=HOT, max_tokens=2, ignore_eos=True)
    first = [ids for _name, ids in prompts[:4]]
    requests = tuple(
        ProbeRequest(
            request_id=f"{wave} {kind} {index}",
            prompt=ids,
            sampling=sampling,
            arrives_at=3 * wave + late,  # those that are late draft when the others end
        )
        for wave in range(150)
        for late, kind, wanted in ((0, "first", first), (1, "moved", [prompt] * 4))
        for index, ids in enumerate(wanted)
    )
    found = engines["draft_model-sampling"].probe(Probe(requests=requests))
    written = [
        output.completions[0].token_ids for output in found.outputs if "moved" in output.request_id
    ]
    accepts_some(found.counters)
    chosen = [second for before, second in written if before == space]
    assert len(chosen) > 450  # a space is all but sure
    counts = [chosen.count(digit) for digit in digits]
    mass = masses(engines["none"], (*prompt, space), digits)
    follows(
        "moved",
        View(
            np.array([*counts, len(chosen) - sum(counts)]),
            np.array([*mass, max(0.0, 1 - mass.sum())]),
        ),
    )


def fork_in_the_road(target: EngineHost) -> tuple[tuple[int, ...], int]:
    """A prompt, and the space that follows it.

    The target has written ``16 -`` and goes on with the coins that went, 10, or the boxes, 3, as
    likely; its draft model is all for the 1.
    """
    (question,) = target.tokenize([evaluation("gsm8k", 3)[2].prompt])
    (answer,) = generate(target, [("", question)], Sampling(max_tokens=38), in_flight=1)
    assert answer.shown.endswith("16 - "), "the testbed was trained anew: find another fork"
    *head, space = answer.output
    return (*question, *head), space


def masses(target: EngineHost, prefix: tuple[int, ...], tokens: tuple[int, ...]) -> np.ndarray:
    """Probability of each of ``tokens`` behind ``prefix``."""
    texts = tuple(ScoredText(token_ids=(*prefix, token), start=len(prefix)) for token in tokens)
    scores = target.score(Scoring(texts=texts, temperature=HOT))
    return np.array([score.mass for (score,) in scores])


def assert_reproducible(
    engine: EngineHost, prompts: Prompts, drafts: DraftPlan | None = None
) -> None:
    hot = Sampling(temperature=HOT, max_tokens=40, ignore_eos=True)
    seeded = hot.model_copy(update={"seed": 7})

    def run(*wanted: tuple[int, Sampling]) -> tuple[int, ...]:
        requests = tuple(
            ProbeRequest(request_id=str(index), prompt=prompts[index][1], sampling=sampling)
            for index, sampling in wanted
        )
        result = engine.probe(Probe(requests=requests, drafts=drafts))
        return result.outputs[-1].completions[0].token_ids

    alone = run((0, seeded))
    other = run((1, hot), (0, seeded.model_copy(update={"seed": 8})))
    if other == alone:
        raise AnotherFault("another seed gives the same text")
    assert run((1, hot), (2, hot), (0, seeded)) == alone
    assert run((3, seeded), (0, seeded)) == alone
