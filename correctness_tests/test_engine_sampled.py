"""Sampled output of a whole engine is distributed as the target's own, whatever was drafted.

One number a token: its randomised probability integral transform under the distribution that
standard decoding has at that very prefix (`draftgate.lossless.pit`). Each test prints how large a
displacement it would have found.
"""

from __future__ import annotations

import pytest
from engines import HOT, Engines

from draftgate.engine import DraftPlan, Probe, ProbeRequest, Sampling
from draftgate.lossless.equality import Text
from draftgate.lossless.known_issues import known_issue
from draftgate.lossless.pit import Calibration
from draftgate.lossless.whole_engine import Prompts, recordings, sampled, sampled_calibration

TOKENS = 200  # of each request, past its end
RAGGED = DraftPlan(rule="ragged")


def calibration(
    engines: Engines,
    variant: str,
    prompts: Prompts,
    drafts: DraftPlan | None = None,
    temperature: float = 1.0,
) -> Calibration:
    texts = sampled(
        engines[variant],
        prompts,
        temperature=temperature,
        tokens=TOKENS,
        in_flight=8,
        drafts=drafts,
    )
    found = sampled_calibration(texts, engines["none"], temperature=temperature)
    print(variant, found)
    return found


@pytest.mark.parametrize("temperature", [HOT, 1.0])
def test_scripted_drafts(
    engines: Engines, prompts: Prompts, standard: list[Text], temperature: float
) -> None:
    """Windows of all lengths in one batch, of right, wrong and improbable tokens."""
    plan = RAGGED.model_copy(update={"recordings": recordings(standard)})
    found = calibration(engines, "scripted", prompts * 2, plan, temperature)
    assert found.accepted, str(found)


@pytest.mark.parametrize(
    "variant",
    [
        "eagle3",
        *(pytest.param(v, marks=pytest.mark.slow) for v in ("ngram", "draft_model", "eagle")),
    ],
)
def test_trained_and_training_free_proposers(
    engines: Engines, prompts: Prompts, variant: str
) -> None:
    found = calibration(engines, variant, prompts * 2, temperature=HOT)
    assert found.accepted, str(found)


@pytest.mark.slow
def test_standard_decoding_passes_its_own_test(engines: Engines, prompts: Prompts) -> None:
    found = calibration(engines, "none", prompts * 2, temperature=HOT)
    assert found.accepted, str(found)


@known_issue("L1")
def test_installed_engine(engines: Engines, prompts: Prompts) -> None:
    """What a user of this vLLM gets, without the repair that the other tests run with."""
    found = calibration(engines, "scripted+installed", prompts * 2, RAGGED, temperature=0.6)
    assert found.accepted, str(found)


def test_seeded_request_gets_the_same_tokens_in_any_company(
    engines: Engines, prompts: Prompts
) -> None:
    engine, hot = engines["scripted"], Sampling(temperature=1.0, max_tokens=40, ignore_eos=True)
    seeded = hot.model_copy(update={"seed": 7})

    def run(*wanted: tuple[int, Sampling]) -> tuple[int, ...]:
        requests = tuple(
            ProbeRequest(request_id=str(index), prompt=prompts[index][1], sampling=sampling)
            for index, sampling in wanted
        )
        result = engine.probe(Probe(requests=requests, drafts=RAGGED))
        return result.outputs[-1].completions[0].token_ids

    alone = run((0, seeded))
    assert run((1, hot), (2, hot), (0, seeded)) == alone
    assert run((3, seeded), (0, seeded)) == alone
    assert run((1, hot), (0, seeded.model_copy(update={"seed": 8}))) != alone
