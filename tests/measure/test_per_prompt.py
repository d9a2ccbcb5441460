"""Counts by prompt add up to the round's own."""

import pytest
from hypothesis import given
from round_strategies import rounds_and_k

from draftgate.measure import metrics, per_prompt


@given(rounds_and_k(min_k=1))
def test_the_prompts_counts_make_the_rounds_ratios(drawn):
    record, _ = drawn
    for by_prompt, whole in (
        (per_prompt.tokens_per_step([record]), metrics.tokens_per_step(record)),
        (per_prompt.acceptance_length([record]), metrics.acceptance_length(record)),
    ):
        above, below = (sum(counts[i] for counts in by_prompt.values()) for i in range(2))
        assert (above / below if below else None) == (whole and pytest.approx(whole))


@given(rounds_and_k(min_k=1))
def test_rounds_add_up(drawn):
    record, _ = drawn
    once, twice = per_prompt.tokens_per_step([record]), per_prompt.tokens_per_step([record] * 2)
    assert twice == {p: (2 * above, 2 * below) for p, (above, below) in once.items()}
