"""What a step costs: verification, drafting, overhead; all linear, so sums of steps go in whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from draftgate.analysis.errors import CostModelError
from draftgate.analysis.traces import FloatArray


@dataclass(frozen=True)
class TargetCost:
    """Seconds of one forward pass of the target."""

    per_kv_token_s: float
    per_batched_token_s: float
    fixed_s: float


@dataclass(frozen=True)
class DraftCost:
    """Seconds a step spends on drafting.

    ``per_token_s`` is paid by verified token (drafts and the last token), ``per_pass_s`` by draft
    token of one request: the sequential passes of a draft model. ``verification_share`` is a share
    of the verification's time.
    """

    verification_share: float = 0.0
    per_kv_token_s: float = 0.0
    per_token_s: float = 0.0
    per_pass_s: float = 0.0
    fixed_s: float = 0.0


@dataclass(frozen=True)
class CostModel:
    """Costs of one target on one machine; ``drafts`` by proposer."""

    name: str
    target: TargetCost
    overhead_s: float
    drafts: Mapping[str, DraftCost]

    def verify_seconds(
        self, steps: FloatArray, kv_tokens: FloatArray, batched_tokens: FloatArray
    ) -> FloatArray:
        """Time of ``steps`` passes over these sums of cached and batched tokens."""
        cost = self.target
        seconds: FloatArray = (
            cost.per_kv_token_s * kv_tokens
            + cost.per_batched_token_s * batched_tokens
            + cost.fixed_s * steps
        )
        return seconds

    def draft_seconds(
        self,
        proposer: str,
        steps: FloatArray,
        kv_tokens: FloatArray,
        tokens: FloatArray,
        passes: FloatArray,
        verify_s: FloatArray,
    ) -> FloatArray:
        """Drafting time of ``steps`` steps over these sums; raises CostModelError as `draft`."""
        cost = self.draft(proposer)
        seconds: FloatArray = (
            cost.verification_share * verify_s
            + cost.per_kv_token_s * kv_tokens
            + cost.per_token_s * tokens
            + cost.per_pass_s * passes
            + cost.fixed_s * steps
        )
        return seconds

    def draft(self, proposer: str) -> DraftCost:
        """The draft cost of ``proposer``; raises CostModelError where the model has none."""
        if proposer not in self.drafts:
            raise CostModelError(
                f"cost model {self.name!r} has no draft cost for {proposer!r}; "
                f"it has {', '.join(sorted(self.drafts)) or 'none'}"
            )
        return self.drafts[proposer]


def standard_seconds(
    cost: CostModel, prompt_tokens: FloatArray, output_tokens: FloatArray, copies: FloatArray
) -> FloatArray:
    """Standard decoding of batches of equal requests; shape (requests, copies).

    The prefill yields the first token; each further token is a step over the cache so far.
    """
    steps = output_tokens - 1
    kv_tokens = steps * prompt_tokens + steps * output_tokens / 2
    decode = cost.verify_seconds(
        steps[:, None], np.outer(kv_tokens, copies), np.outer(steps, copies)
    )
    return prefill_seconds(cost, prompt_tokens, copies) + decode + cost.overhead_s * steps[:, None]


def prefill_seconds(cost: CostModel, prompt_tokens: FloatArray, copies: FloatArray) -> FloatArray:
    """One step over the prompts of ``copies`` equal requests, on an empty cache."""
    batched = np.outer(prompt_tokens, copies)
    ones, empty = np.ones_like(batched), np.zeros_like(batched)
    return cost.verify_seconds(ones, empty, batched) + cost.overhead_s
