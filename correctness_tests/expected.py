"""What a sampler must do with the random numbers given, by the reference."""

from __future__ import annotations

import numpy as np
from batches import with_drafts
from hypothesis import assume

from draftgate.lossless import reference
from draftgate.lossless.batch import Batch, FloatArray
from draftgate.lossless.constraints import softmax
from draftgate.lossless.samplers import Kernels

MARGIN = 1e-5  # a uniform this close to p / q may fall on either side in float32
ROUNDING = 2e-6  # of a probability in float32, computed as an exponential of a difference
BLOCK_MARGIN = 1e-4  # block verification divides small numbers


def probabilities(batch: Batch) -> FloatArray:
    return softmax(batch.logits[batch.target_rows])


def per_request(batch: Batch) -> list[tuple[tuple[int, ...], FloatArray, FloatArray | None]]:
    targets = reference.rows_of(batch, probabilities(batch))
    proposals = (
        [None] * len(targets)
        if batch.proposal is None
        else reference.rows_of(batch, batch.proposal)
    )
    return list(zip(batch.windows(), targets, proposals, strict=True))


def can_reach(window: tuple[int, ...], p: FloatArray, i: int) -> bool:
    """Whether the drafts before ``i`` can all be accepted."""
    return all(draft >= 0 and p[j, draft] > 0 for j, draft in enumerate(window[:i]))


def expected_acceptance(
    sampler: Kernels,
    batch: Batch,
    bonus: np.ndarray,
    uniforms: np.ndarray,
    recovered: np.ndarray,
) -> np.ndarray:
    parts = zip(
        per_request(batch),
        reference.rows_of(batch, uniforms),
        reference.rows_of(batch, recovered),
        bonus,
        strict=True,
    )
    outputs = [
        reference.emitted(
            window, reference.accepted_drafts(window, p, q, u, sampler.verification), r, int(b)
        )
        for (window, p, q), u, r, b in parts
    ]
    return reference.padded(outputs, int(batch.lengths.max()) + 1)


def clear(sampler: Kernels, batch: Batch, uniforms: FloatArray) -> bool:
    """Whether no uniform is so close to its threshold that rounding decides."""
    margin = BLOCK_MARGIN if sampler.verification == "block" else MARGIN
    return all(
        (np.abs(np.array(limits) - luck[: len(limits)]) > margin).all()
        for (window, p, q), luck in zip(
            per_request(batch), reference.rows_of(batch, uniforms), strict=True
        )
        for limits in [reference.thresholds(window, p, q, sampler.verification)]
    )


def assert_matched(sampler: Kernels, batch: Batch, rng: np.random.Generator) -> None:
    """Greedy verification takes the likeliest tokens up to the first draft that is another."""
    bonus = rng.integers(0, batch.vocab, len(batch.lengths)).astype(np.int32)
    choices = batch.logits[batch.target_rows].argmax(axis=1)
    batch = with_drafts(batch, np.where(rng.random(len(choices)) < 0.7, choices, batch.drafts))
    outputs = [
        reference.matching_output(window, tuple(map(int, row)), int(b))
        for window, row, b in zip(
            batch.windows(), reference.rows_of(batch, choices), bonus, strict=True
        )
    ]
    expected = reference.padded(outputs, int(batch.lengths.max()) + 1)
    np.testing.assert_array_equal(sampler.match(batch, bonus), expected)


def assert_accepted(sampler: Kernels, batch: Batch, rng: np.random.Generator) -> None:
    """Drafts are accepted as uniforms ask for; what follows is what is given."""
    uniforms = rng.random(len(batch.drafts))
    recovered = rng.integers(0, batch.vocab, len(batch.drafts)).astype(np.int32)
    bonus = rng.integers(0, batch.vocab, len(batch.lengths)).astype(np.int32)
    assume(clear(sampler, batch, uniforms))
    expected = expected_acceptance(sampler, batch, bonus, uniforms, recovered)
    np.testing.assert_array_equal(sampler.accept(batch, bonus, uniforms, recovered), expected)


def assert_recovered(sampler: Kernels, batch: Batch, inverse: FloatArray) -> None:
    """``inverse``: one over the exponential noise, a row a request."""
    recovered = reference.rows_of(batch, sampler.recover(batch, inverse))
    for (window, p, q), row, tokens in zip(per_request(batch), inverse, recovered, strict=True):
        joints = reference.joint_ratios(window, p, q)
        for i, draft in enumerate(window):
            if tokens[i] == -1:
                assert not can_reach(window, p, i)
                continue
            proposal = None if q is None else q[i]
            joint = joints[i] if sampler.verification == "block" else 1.0
            scores = reference.recovery_scores(p[i], proposal, draft, row, joint)
            assert 0 <= tokens[i] < batch.vocab
            # p - q is known to rounding, which the noise multiplies.
            best = (scores - ROUNDING * row).max() * (1 - MARGIN)
            assert scores[tokens[i]] + ROUNDING * row[tokens[i]] >= best
