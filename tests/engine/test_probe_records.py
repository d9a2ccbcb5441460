"""Probes and scorings that make no sense are refused where they are made."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from draftgate.engine import Probe, ProbeRequest, Sampling, ScoredText


def test_structures_exclude_one_another() -> None:
    with pytest.raises(ValidationError, match="exclude one another"):
        Sampling(regex="a", choice=("a",))


def test_request_ids_differ() -> None:
    request = ProbeRequest(request_id="a", prompt=(1,))
    with pytest.raises(ValidationError, match="request ids repeat"):
        Probe(requests=(request, request))


def test_an_empty_prompt_is_refused() -> None:
    with pytest.raises(ValidationError, match="prompt"):
        ProbeRequest(request_id="a", prompt=())


@pytest.mark.parametrize("start", [0, 3])
def test_a_score_begins_inside_its_text(start: int) -> None:
    with pytest.raises(ValidationError):
        ScoredText(token_ids=(1, 2, 3), start=start)
