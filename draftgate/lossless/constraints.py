"""What temperature, top-k and top-p make of a distribution: the float64 reference."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from draftgate.lossless.batch import FloatArray


@dataclass(frozen=True)
class Setting:
    """A request's parameters. Temperature 0 is greedy; top_k None and top_p 1 do nothing."""

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float = 1.0

    @property
    def greedy(self) -> bool:
        """Whether the request takes the argmax."""
        return self.temperature == 0


PLAIN = Setting()


def constrain(logits: FloatArray, setting: Setting) -> FloatArray:
    """Probabilities [rows, vocab] in float64 from which a token is drawn under ``setting``.

    Top-k first: tokens as likely as the k-th stay. Then top-p: the likeliest tokens stay until
    their sum reaches p, the one that reaches it included. Greedy rows keep their distribution.
    """
    scaled = logits.astype(np.float64) / (setting.temperature or 1.0)
    if setting.top_k is not None and setting.top_k < scaled.shape[1]:
        smallest = np.sort(scaled, axis=1)[:, -setting.top_k, None]
        scaled = np.where(scaled < smallest, -np.inf, scaled)
    p = softmax(scaled)
    return p if setting.top_p >= 1 else _nucleus(p, setting.top_p)


def softmax(logits: FloatArray) -> FloatArray:
    """Probabilities [rows, vocab] in float64."""
    wide = logits.astype(np.float64)
    return normalised(np.exp(wide - wide.max(axis=1, keepdims=True)))


def normalised(weights: FloatArray) -> FloatArray:
    """Rows divided by their sums, in float64."""
    wide = weights.astype(np.float64)
    rows: FloatArray = wide / wide.sum(axis=1, keepdims=True)
    return rows


def _nucleus(p: FloatArray, top_p: float) -> FloatArray:
    order = np.argsort(-p, axis=1, kind="stable")
    ranked = np.take_along_axis(p, order, axis=1)
    before = np.cumsum(ranked, axis=1) - ranked
    kept = np.zeros_like(p)
    np.put_along_axis(kept, order, np.where(before < top_p, ranked, 0.0), axis=1)
    return normalised(kept)
