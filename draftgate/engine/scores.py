"""Texts under the target's own distribution, token by token."""

from __future__ import annotations

from pydantic import Field, model_validator

from draftgate.engine.records import Record


class ScoredText(Record):
    """Token ids of which those from index ``start`` on are scored, each given all before it."""

    token_ids: tuple[int, ...]
    start: int = Field(ge=1)

    @model_validator(mode="after")
    def _starts_inside(self) -> ScoredText:
        if self.start >= len(self.token_ids):
            raise ValueError(f"nothing to score from {self.start} on in {len(self.token_ids)} ids")
        return self


class TokenScore(Record):
    """One token given its prefix.

    ``gap``: log-probability of the likeliest token less its own, at temperature 1; 0 for the
    argmax. ``mass``: its probability at the scoring's temperature. ``below``: probability of all
    tokens that are likelier (ties by vLLM's order), ``below_id``: of all with a smaller id; None
    where only gaps were asked for.
    """

    gap: float
    mass: float | None = None
    below: float | None = None
    below_id: float | None = None


class Scoring(Record):
    """``texts`` to score; an engine without speculative decoding does it by prefill alone.

    ``gaps_only``: the rest takes [tokens, vocabulary] of memory, sorted, a text.
    """

    texts: tuple[ScoredText, ...] = Field(min_length=1)
    temperature: float = Field(default=1.0, gt=0.0)
    gaps_only: bool = False
