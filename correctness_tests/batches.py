"""Random batches for the deterministic checks: every request has its own rows and length."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from draftgate.lossless.adversaries import ADVERSARIES, random_chain
from draftgate.lossless.batch import Batch, Sampling
from draftgate.lossless.constraints import Setting
from draftgate.lossless.samplers import chosen
from draftgate.lossless.trial import Trial


@st.composite
def batches(
    draw: st.DrawFn, *, temperatures: tuple[float, ...] = (1.0,), max_vocab: int = 9
) -> Batch:
    """Up to six requests of 0 to 3 drafts, at least one draft in all."""
    vocab = draw(st.integers(2, max_vocab))
    lengths = draw(st.lists(st.integers(0, 3), min_size=1, max_size=6).filter(any))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    chains = [
        random_chain(
            rng,
            vocab,
            k,
            draw(st.sampled_from(sorted(ADVERSARIES))),
            Setting(draw(st.sampled_from(temperatures))),
        )
        for k in lengths
    ]
    return Trial(chains, requests=1, certain=draw(st.booleans())).draw(rng)


def with_drafts(batch: Batch, drafts: np.ndarray) -> Batch:
    return replace(batch, drafts=np.asarray(drafts, np.int32))


def single(
    window: list[int], target: list[list[float]], proposal: list[list[float]] | None
) -> Batch:
    """One request at temperature 1, from probabilities; the bonus row is flat."""
    p = np.array([*target, [1 / len(target[0])] * len(target[0])])
    with np.errstate(divide="ignore"):
        logits = np.log(p).astype(np.float32)
    return Batch(
        lengths=np.array([len(window)], np.int32),
        drafts=np.array(window, np.int32),
        logits=logits,
        proposal=None if proposal is None else np.array(proposal, np.float32),
        sampling=Sampling(temperature=np.ones(1, np.float32)),
    )


def examples(count: int, **options: Any) -> settings:
    """Hypothesis settings: ``count`` examples, a tenth of them where kernels are interpreted."""
    affordable = max(3, count // 10) if chosen().endswith("interpreted") else count
    return settings(max_examples=affordable, **options)
