"""Asks the target whether outputs that differ are near-ties, for the session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from draftgate.lossless.equality import TOLERANCE, Equality, Text

if TYPE_CHECKING:
    from draftgate.engine.records import RequestRecord, RoundRecord
    from draftgate.engine.scores import Scoring, TokenScore
    from draftgate.measure.agreement import Agreement
    from draftgate.measure.arms import Arms
    from draftgate.profile.cells import Cell, Scenario


@dataclass(frozen=True)
class _Target:
    """A scenario's engine, as `greedy_equality` wants one."""

    arms: Arms
    scenario: Scenario

    def score(self, scoring: Scoring) -> tuple[tuple[TokenScore, ...], ...]:
        return self.arms.score(self.scenario, scoring)


@dataclass(frozen=True)
class NearTies:
    """A `draftgate.measure.session.Weigh` whose judge is the control's engine."""

    arms: Arms

    def __call__(
        self, cell: Cell, agreement: Agreement, found: RoundRecord, control: RoundRecord
    ) -> Agreement:
        """Gaps of all differences. Raises EngineError."""
        # Imports numpy and scipy, which most runs need not: outputs seldom differ.
        from draftgate.lossless.whole_engine import greedy_equality

        info = self.arms.info(cell.scenario.control)
        if info.dtype not in TOLERANCE:
            return agreement
        requests = [d.request for d in agreement.differences]
        # A copy of a replicated prompt does not keep the prompt's tokens.
        prompts = {r.prompt_id: r.prompt_token_ids for r in control.requests if r.prompt_token_ids}
        equality = greedy_equality(
            [_text(i, control.requests[i], prompts) for i in requests],
            [_text(i, found.requests[i], prompts) for i in requests],
            _Target(self.arms, cell.scenario.control),
            dtype=info.dtype,
            max_model_len=info.max_model_len,
        )
        return agreement.weighed({i: _gap(equality, str(i)) for i in requests}, equality.tolerance)


def _text(index: int, request: RequestRecord, prompts: Mapping[str, tuple[int, ...]]) -> Text:
    prompt = prompts[request.prompt_id]
    return Text(str(index), prompt, request.output_token_ids, request.finish_reason)


def _gap(equality: Equality, name: str) -> float | None:
    """The largest of a text's partings; None where one of them is no matter of likelihood."""
    partings = (*equality.near_ties, *equality.divergences)
    gaps = [parting.gap for parting in partings if parting.name == name]
    known = [gap for gap in gaps if gap is not None]
    return max(known) if known and len(known) == len(gaps) else None
