"""The transform accepts whatever the target drew and refutes a displacement it claims to find."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftgate.engine.scores import TokenScore
from draftgate.lossless.pit import ALPHA, calibrate, detectable, tokens_needed

VOCAB = 40


def draw(tokens: int, seed: int, fault: float = 0.0, sharpness: float = 1.0) -> list[TokenScore]:
    """Scores of tokens drawn from a new distribution each.

    ``fault``: with that probability a token is the likeliest one instead, whatever the law says.
    """
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(VOCAB, sharpness), size=tokens)
    x = (p.cumsum(axis=1) > rng.random((tokens, 1))).argmax(axis=1)
    x = np.where(rng.random(tokens) < fault, p.argmax(axis=1), x)
    return [score(row, int(token)) for row, token in zip(p, x, strict=True)]


def score(p: np.ndarray, token: int) -> TokenScore:
    mass = float(p[token])
    return TokenScore(
        gap=float(np.log(p.max() / mass)),
        mass=mass,
        below=float(p[p > mass].sum()),
        below_id=float(p[:token].sum()),
    )


def displacement(sharpness: float, fault: float) -> float:
    """By how much the fault displaces the transform in order of probability, on average.

    Likeliest tokens fill [0, p_max]; the fault takes ``fault`` of all tokens there. At u below
    p_max the share below is u + fault * u (1/p_max - 1), at most fault * (1 - p_max) at p_max.
    """
    rng = np.random.default_rng(0)
    largest = rng.dirichlet(np.full(VOCAB, sharpness), size=20_000).max(axis=1)
    grid = np.linspace(0.01, 0.99, 99)[:, None]
    return float(fault * (np.minimum(grid / largest, 1.0) - grid).mean(axis=1).max())


@given(st.integers(0, 2**32), st.sampled_from([0.1, 1.0, 10.0]))
@settings(max_examples=40, deadline=None)
def test_the_target_s_own_draws_are_accepted(seed: int, sharpness: float) -> None:
    assert calibrate(draw(500, seed, sharpness=sharpness)).accepted


def test_a_correct_sampler_is_never_refuted_in_a_thousand_runs() -> None:
    """And its p is a bound: at most the stated share of runs falls below a level."""
    scores = draw(50_000, seed=1)
    p = np.array([calibrate(scores[i * 50 : (i + 1) * 50], seed=i).p for i in range(1000)])
    assert (p > ALPHA).all()
    for level in (0.5, 0.1, 0.01):
        assert (p <= level).mean() <= level + 3 * np.sqrt(level * (1 - level) / 1000)


def test_a_displacement_is_found_as_often_as_stated() -> None:
    fault, sharpness = 0.3, 0.3
    size = displacement(sharpness, fault)
    n = tokens_needed(size)
    assert 300 < n < 5000
    found = [calibrate(draw(n, seed, fault, sharpness), seed).accepted for seed in range(100)]
    assert sum(found) <= 1


def test_the_worse_order_is_reported() -> None:
    """Tokens of small ids come twice as often, likely or not: only the order by id shows it."""
    rng = np.random.default_rng(3)
    uneven = rng.permutation(np.linspace(1.0, 2.0, VOCAB))  # likely or not: unrelated to the id
    uneven /= uneven.sum()
    small = np.where(np.arange(VOCAB) < VOCAB // 2, uneven, 0.0)
    faulty = 0.7 * uneven + 0.3 * small / small.sum()
    tokens = rng.choice(VOCAB, size=3000, p=faulty)
    calibration = calibrate([score(uneven, int(token)) for token in tokens])
    assert calibration.order == "id"
    assert not calibration.accepted
    assert calibration.displacement == pytest.approx(0.15, abs=0.03)


@pytest.mark.parametrize(("sign", "kind"), [(1, "differences"), (-1, "sums")])
def test_a_random_number_that_serves_twice_is_found(sign: int, kind: str) -> None:
    """Each token follows the law; the second of each pair is chosen by the first's own number."""
    rng = np.random.default_rng(4)
    p = rng.dirichlet(np.full(VOCAB, 10.0), size=2000)
    first = rng.random(1000)
    luck = np.stack([first, first if sign > 0 else 1 - first], axis=1).reshape(-1, 1)
    tokens = (p.cumsum(axis=1) > luck).argmax(axis=1)
    scores = [score(row, int(token)) for row, token in zip(p, tokens, strict=True)]
    calibration = calibrate(scores)
    assert not calibration.accepted
    assert (calibration.order, calibration.kind) == ("id", kind)
    assert f"{kind} of successive tokens" in str(calibration)


def test_detectable_and_tokens_needed_are_inverse() -> None:
    for n in (100, 4000, 10**6):
        assert tokens_needed(detectable(n)) == pytest.approx(n, abs=1)
    assert detectable(6000) < 0.06


def test_certain_tokens_say_nothing() -> None:
    """Where the target is certain, the transform is the uniform number drawn here."""
    certain = [TokenScore(gap=0.0, mass=1.0, below=0.0, below_id=0.0)] * 2000
    assert calibrate(certain).accepted


def test_certain_tokens_do_not_hide_the_others() -> None:
    """A third of the tokens is off; among nine times as many certain ones it is found as well."""
    faulty = draw(2000, seed=5, fault=0.3, sharpness=0.3)
    certain = [TokenScore(gap=0.0, mass=0.999, below=0.0, below_id=0.3)] * 18_000
    alone, among = calibrate(faulty), calibrate([*faulty, *certain])
    assert not among.accepted
    assert among.tokens == alone.tokens
    assert among.certain == 18_000 + alone.certain


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_which_tokens_are_certain_does_not_depend_on_them(temperature: float) -> None:
    """``gap`` is told at temperature 1: taken at the wrong one, the choice would bias the rest."""
    scores = draw(5000, seed=6, sharpness=0.3)
    told = [s.model_copy(update={"gap": s.gap * temperature}) for s in scores]
    found = calibrate(told, temperature=temperature)
    assert found.accepted
    assert found == calibrate(scores)


def test_an_impossible_token_counts_where_it_lies() -> None:
    beyond = [TokenScore(gap=40.0, mass=0.0, below=1.0, below_id=0.5)] * 50
    assert not calibrate(beyond).accepted


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="no token"):
        calibrate([])
    with pytest.raises(ValueError, match="no probabilities"):
        calibrate([TokenScore(gap=0.0, mass=float("nan"), below=0.0, below_id=0.0)])
