"""Does an output repeat its prompt, and is n-gram lookup the better for it?

Overlap is BLEU-4 of the output against its prompt (sacrebleu, over token ids), without the brevity
penalty: a prompt is longer than its answer for reasons that have nothing to do with copying.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from draftgate.analysis.errors import AnalysisError
from draftgate.analysis.steps import measured_steps
from draftgate.engine.records import RoundRecord


class OverlapError(AnalysisError):
    """Overlap cannot be computed: sacrebleu is missing."""


@dataclass(frozen=True)
class OverlapPoint:
    """One request. ``bleu4`` in [0, 100]; ``gain``: n-gram's tokens per step / the other's."""

    request_id: str
    bleu4: float
    gain: float


@dataclass(frozen=True)
class RankCorrelation:
    """Spearman's, with its two-sided p."""

    rho: float
    p: float
    n: int


class Bleu4:
    """Scores outputs against prompts; raises OverlapError without sacrebleu."""

    def __init__(self) -> None:
        self._bleu: Any = _sacrebleu()

    def __call__(self, prompt_ids: Sequence[int], output_ids: Sequence[int]) -> float:
        """BLEU-4 without brevity penalty, in [0, 100]; 0 where either is empty."""
        if not prompt_ids or not output_ids:
            return 0.0
        score = self._bleu.sentence_score(_spelled(output_ids), [_spelled(prompt_ids)])
        return min(100.0, score.score / score.bp) if score.bp else 0.0


def overlap_against_gain(ngram: RoundRecord, other: RoundRecord) -> tuple[OverlapPoint, ...]:
    """Requests of both rounds that keep their prompt and have decode steps.

    ``other``: the arm that n-gram's gain is relative to, another variant's or the control's.
    """
    bleu4 = Bleu4()
    prompts = {r.prompt_id: r for r in ngram.requests if r.prompt_token_ids}
    gains = {s.request_id: s.tokens_per_step for s in measured_steps(ngram)}
    points = []
    for steps in measured_steps(other):
        mine, theirs = gains.get(steps.request_id), steps.tokens_per_step
        if steps.request_id in prompts and mine and theirs:
            record = prompts[steps.request_id]
            score = bleu4(record.prompt_token_ids, record.output_token_ids)
            points.append(OverlapPoint(steps.request_id, score, mine / theirs))
    return tuple(points)


def rank_correlation(points: Sequence[OverlapPoint]) -> RankCorrelation | None:
    """Of overlap and gain; None with fewer than 3 points or where one of them does not vary."""
    scores, gains = [p.bleu4 for p in points], [p.gain for p in points]
    if len(points) < 3 or len(set(scores)) < 2 or len(set(gains)) < 2:
        return None
    from scipy.stats import spearmanr

    found = spearmanr(scores, gains)
    return RankCorrelation(float(found.statistic), float(found.pvalue), len(points))


def _sacrebleu() -> Any:
    try:
        from sacrebleu.metrics import BLEU
    except ImportError:
        raise OverlapError(
            "prompt-output overlap needs sacrebleu; install draftgate[report]"
        ) from None
    # Effective order: an output shorter than four tokens has no 4-grams to be blamed for.
    return BLEU(tokenize="none", effective_order=True)


def _spelled(ids: Sequence[int]) -> str:
    return " ".join(map(str, ids))
