"""Greedy output of a whole engine is standard decoding's, token by token, whatever was drafted.

Scripted drafts do what real proposers seldom do: be always right, always wrong, of another length
in each row and step, or absent. A wrong draft leaves its keys and values in the cache; every token
that follows a rejection is evidence that they are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from drafting import accepts_some
from engines import IN_FLIGHT, MAX_MODEL_LEN, MAX_TOKENS, Engines

from draftgate.engine import DraftPlan, Sampling, SpecCounters
from draftgate.lossless.channels import LawRefuted
from draftgate.lossless.equality import Text
from draftgate.lossless.whole_engine import Prompts, generate, greedy_equality, recordings, run

GREEDY = Sampling(max_tokens=MAX_TOKENS)

SCRIPTS = {
    "oracle": DraftPlan(rule="oracle"),
    "padded-oracle": DraftPlan(rule="oracle", padded=True),
    "adversary": DraftPlan(rule="adversary"),
    "ragged": DraftPlan(rule="ragged"),
    "empty": DraftPlan(rule="empty"),
}
BATCHES = pytest.mark.parametrize("in_flight", [1, IN_FLIGHT], ids=["batch-1", "mixed"])
# What a script's drafts must come to: (accepted, drafted).
COUNTED: Mapping[str, Callable[[int, int], bool]] = {
    "oracle": lambda accepted, drafted: accepted == drafted > 0,
    "padded-oracle": lambda accepted, drafted: 0 < accepted <= drafted,
    "adversary": lambda accepted, drafted: accepted == 0 < drafted,
    "ragged": lambda accepted, drafted: 0 < accepted < drafted,
    "empty": lambda _accepted, drafted: drafted == 0,
}


def check(
    engines: Engines,
    variant: str,
    standard: list[Text],
    in_flight: int,
    drafts: DraftPlan | None = None,
    control: str = "none",
) -> SpecCounters:
    """Compare with standard decoding; at batch 1 the first prompts only."""
    expected = standard if in_flight > 1 else standard[:3]
    prompts = [(text.name, text.prompt) for text in expected]
    found, result = run(engines[variant], prompts, GREEDY, in_flight=in_flight, drafts=drafts)
    equality = greedy_equality(expected, found, engines[control], max_model_len=MAX_MODEL_LEN)
    print(equality)
    assert equality.holds, str(equality)
    assert result.counters is not None
    return result.counters


def rejects_some(counters: SpecCounters) -> None:
    """No proposer that is trained or copies is always right."""
    if accepts_some(counters).accepted_tokens == counters.draft_tokens:
        raise LawRefuted(f"all drafts of a proposer are right: {counters}", "acceptance")


@BATCHES
@pytest.mark.parametrize("script", SCRIPTS)
def test_scripted_drafts(
    engines: Engines, standard: list[Text], script: str, in_flight: int
) -> None:
    plan = SCRIPTS[script].model_copy(update={"recordings": recordings(standard)})
    counters = check(engines, "scripted", standard, in_flight, plan)
    if not COUNTED[script](counters.accepted_tokens, counters.draft_tokens):
        raise LawRefuted(f"reported of drafts by the script {script!r}: {counters}", "metric")


@BATCHES
@pytest.mark.parametrize(
    "variant",
    [
        "eagle3",
        *(pytest.param(v, marks=pytest.mark.slow) for v in ("ngram", "draft_model", "eagle")),
    ],
)
def test_trained_and_training_free_proposers(
    engines: Engines, standard: list[Text], variant: str, in_flight: int
) -> None:
    rejects_some(check(engines, variant, standard, in_flight))


def test_k_follows_the_batch_size(engines: Engines, standard: list[Text]) -> None:
    counters = check(engines, "draft_model-dynamic", standard, IN_FLIGHT)
    rejects_some(counters)
    if not counters.drafts < counters.draft_tokens < 3 * counters.drafts:
        raise LawRefuted(f"k was the same in all steps: {counters}", "metric")


def test_keys_of_a_rejected_draft_are_seen(engines: Engines, standard: list[Text]) -> None:
    """With a planted fault that leaves them in the cache, the comparison fails."""
    plan = DraftPlan(rule="ragged", recordings=recordings(standard))
    with pytest.raises(AssertionError, match="nats below the likeliest"):
        check(engines, "scripted+stale-keys", standard, IN_FLIGHT, plan)


@pytest.mark.slow
@BATCHES
def test_multi_token_prediction(engines: Engines, prompts: Prompts, in_flight: int) -> None:
    standard = generate(engines["glm-none"], prompts, GREEDY, in_flight=IN_FLIGHT)
    rejects_some(check(engines, "glm-mtp", standard, in_flight, control="glm-none"))
