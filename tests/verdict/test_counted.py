"""Tokens and acceptance where equal software writes equal tokens, and where it need not."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_engines import Script
from recorded_cell import measurement

from draftgate.verdict.counted import Counted, judge_counted
from draftgate.verdict.facts import CellFacts
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.rule import TimedRule
from draftgate.verdict.verdict import Verdict

CELL = "t/ngram-k3/gsm8k/bs2"
GPU = "sm90-bf16"


def facts(isa: str = GPU, accepts: tuple[int, ...] = (3, 1, 2)) -> CellFacts:
    return CellFacts.of(measurement(CELL, Script(accepts=accepts), isa=isa))


def judge(metric: str, ours: CellFacts, theirs: CellFacts | None) -> Verdict:
    other = Counted(theirs.exact, theirs.by_prompt) if theirs else None
    return judge_counted(ours, metric, other, {}, TimedRule())


@pytest.mark.parametrize("metric", ["acceptance_length", "tokens_per_step"])
def test_on_a_gpu_acceptance_is_compared_by_prompt(metric: str) -> None:
    assert judge(metric, facts(), facts()).verdict is VerdictKind.OK
    worse = judge(metric, facts(accepts=(3, 1, 1)), facts())
    assert worse.verdict is VerdictKind.REGRESSED
    assert (worse.counted, worse.limit) == ("prompts", 0.03)
    assert judge(metric, facts(accepts=(3, 2, 2)), facts()).verdict is VerdictKind.IMPROVED


@pytest.mark.parametrize("metric", ["outputs", "drafted_tokens", "per_position_acceptance_rate"])
def test_on_a_gpu_other_counts_are_told_and_pass(metric: str) -> None:
    theirs = facts(accepts=(3, 1, 1))
    theirs = replace(theirs, exact=theirs.exact.model_copy(update={"outputs_hash": "0" * 64}))
    told = judge(metric, facts(), theirs)
    assert (told.verdict, told.fails()) == (VerdictKind.OK, False)
    assert told.evidence.endswith("not exact on this hardware")
    assert judge(metric, facts("x86-avx2-fp32"), theirs).fails()


def test_a_metric_that_is_gone_is_no_rounding() -> None:
    ours = facts()
    gone = replace(ours, exact=ours.exact.model_copy(update={"draft_tokens": None}), by_prompt={})
    assert judge("drafted_tokens", gone, ours).verdict is VerdictKind.REGRESSED


def test_nothing_to_compare_with() -> None:
    assert judge("acceptance_length", facts(), None).verdict is VerdictKind.UNBASELINED
    theirs = replace(facts(), by_prompt={})  # stored where tokens repeat
    assert judge("acceptance_length", facts(), theirs).verdict is VerdictKind.UNDERPOWERED
