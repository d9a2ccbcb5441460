"""Texts of another length: where times do not compare."""

from __future__ import annotations

import pytest

from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.lengths import length_shift


def shifted(tokens: int, parting: int = 0) -> VerdictKind | None:
    found = length_shift("t/v/w/bs1", "speedup", tokens, 10_000, parting=parting)
    return found and found.verdict


@pytest.mark.parametrize("tokens", [10_250, 9_750])
def test_where_texts_repeat_two_percent_is_another_text(tokens: int) -> None:
    assert shifted(tokens) is VerdictKind.STALE
    assert shifted(10_000) is None


@pytest.mark.parametrize(("texts", "passes", "fails"), [(128, 10_500, 10_600), (8, 11_500, 11_700)])
def test_where_equal_engines_part_few_texts_scatter_more(
    texts: int, passes: int, fails: int
) -> None:
    assert shifted(passes, parting=texts) is None
    assert shifted(fails, parting=texts) is VerdictKind.STALE
