import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import xlogy
from scipy.stats import binom, chi2

from draftgate.lossless.goodness import (
    critical_value,
    detectable,
    draws_needed,
    goodness,
    tail_bound,
)
from draftgate.lossless.significance import ALPHA, FAMILY_ERROR, TESTS, Ledger

LAW = np.random.default_rng(0).dirichlet(np.ones(16))


def shifted(law, total_variation):
    """``law`` with the least visible error of that size: in proportion to the law itself."""
    signs = np.where(np.cumsum(law) < 0.5, 1.0, -1.0)
    up, down = law[signs > 0].sum(), law[signs < 0].sum()
    return law * (1 + total_variation * np.where(signs > 0, 1 / up, -1 / down))


def test_a_right_sampler_is_never_rejected_in_1000_runs():
    rng = np.random.default_rng(1)
    counts = rng.multinomial(draws_needed(0.005, ALPHA, 15, 0.995), LAW, size=1000)
    assert min(goodness(row, LAW).p_bound for row in counts) > ALPHA


@given(st.integers(1, 40), st.floats(0.001, 0.5))
def test_what_so_many_draws_find_needs_so_many_draws(freedom, total_variation):
    draws = draws_needed(total_variation, ALPHA, freedom, 0.99)
    found = detectable(draws, ALPHA, freedom, 0.99)
    assert found <= total_variation < detectable(max(1, draws - 1), ALPHA, freedom, 0.99) * 1.0001


def test_half_a_percent_off_is_rejected_in_99_of_100_runs():
    rng = np.random.default_rng(2)
    wrong = shifted(LAW, 0.005)
    assert abs(np.abs(wrong - LAW).sum() / 2 - 0.005) < 1e-12
    counts = rng.multinomial(draws_needed(0.005, ALPHA, 15, 0.995), wrong, size=100)
    assert sum(goodness(row, LAW).p_bound <= ALPHA for row in counts) >= 99


@pytest.mark.parametrize("n", [1, 2, 3, 10, 60])
@pytest.mark.parametrize("p", [1e-3, 0.1, 0.37, 0.5])
@pytest.mark.parametrize("s", [0.3, 0.9, 0.99])
def test_moment_inequality_behind_the_bound(n, p, s):
    """E exp(s n KL) <= 1 / (1 - s) for a binomial; the theorem chains it over the outcomes."""
    x = np.arange(n + 1) / n
    divergence = xlogy(x, x / p) + xlogy(1 - x, (1 - x) / (1 - p))
    assert (binom.pmf(np.arange(n + 1), n, p) * np.exp(s * n * divergence)).sum() <= 1 / (1 - s)


@pytest.mark.parametrize("law", [LAW, np.array([1e-4, 1e-4, 0.4998, 0.5])], ids=["16", "rare"])
@pytest.mark.parametrize("n", [5, 50, 5000])
def test_bound_holds_where_it_can_be_seen(law, n):
    """The bound at each simulated G is at least the share of draws with a G as large."""
    rng = np.random.default_rng(3)
    runs = [goodness(row, law) for row in rng.multinomial(n, law, size=3000)]
    g = np.array([run.g for run in runs])
    for run in runs[:200]:
        share = (g >= run.g).mean()
        assert run.p_bound >= share - 3 * math.sqrt(share / len(g))


@given(x=st.floats(0, 1e4), freedom=st.integers(1, 300))
def test_bound_is_a_probability_above_the_chi_square_tail(x, freedom):
    bound = tail_bound(x, freedom)
    assert 0 <= bound <= 1
    assert bound >= chi2.sf(2 * x, freedom) * (1 - 1e-9)


@given(alpha=st.floats(1e-12, 0.01), freedom=st.integers(0, 300))
def test_critical_value_inverts_the_bound(alpha, freedom):
    assert tail_bound(critical_value(alpha, freedom) / 2, freedom) == pytest.approx(alpha, rel=1e-6)


def test_impossible_outcome_is_certain_proof():
    found = goodness(np.array([10**6, 1]), np.array([1.0, 0.0]))
    assert found.p_bound == 0
    assert (found.worst, found.expected) == (1, 0.0)
    assert "law 0" in str(found)


@pytest.mark.parametrize(
    ("counts", "law"),
    [
        ([1, 2], [0.5, 0.25, 0.25]),
        ([0, 0], [0.5, 0.5]),
        ([1, -1], [0.5, 0.5]),
        ([1, 1], [0.5, 0.6]),
        ([1, 1], [1.5, -0.5]),
        ([1, 1], [math.nan, 0.5]),
    ],
)
def test_bad_input_is_refused(counts, law):
    with pytest.raises(ValueError, match=r"law's shape|distribution"):
        goodness(np.array(counts), np.array(law))


def test_ledger_divides_the_error_and_counts():
    ledger = Ledger(planned=2)
    fair, unfair = np.array([50, 50]), np.array([100, 0])
    half = np.array([0.5, 0.5])
    assert pytest.approx(FAMILY_ERROR) == ALPHA * TESTS
    assert ledger.accepts("fair", goodness(fair, half).p_bound)
    assert not ledger.accepts("unfair", goodness(unfair, half).p_bound)
    assert ledger.rejected == ["unfair"]
    ledger.close()
    ledger.accepts("one more", goodness(fair, half).p_bound)
    with pytest.raises(AssertionError, match="3 statistical tests"):
        ledger.close()
