"""Replicated batches against a plain loop over steps, and what must hold of any trace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from step_loop import Proposer, speedup
from trace_examples import request, trace, traces

from draftgate.analysis.choices import Accounting
from draftgate.analysis.cost_models import BUILT_IN, H100_LLAMA31_8B
from draftgate.analysis.errors import CostModelError, PolicyError, TraceError
from draftgate.analysis.policies import DynamicByBatch, Fixed, Oracle
from draftgate.analysis.simulate import Setup, simulate

SIZES = (1, 3, 40)


def speedups(drawn, proposer, policy, **setup) -> list[float]:
    records = simulate(drawn, proposer, [policy], Setup(batch_sizes=SIZES, **setup))
    return [r["speedup"] for r in records]


@given(
    traces(),
    st.sampled_from(["ngram", "eagle3", "combine"]),
    st.sampled_from([None, 1, 3, 5]),
    st.sampled_from(list(Accounting)),
    st.sampled_from(list(BUILT_IN.values())),
)
def test_equals_the_loop_over_steps(drawn, proposer, k, accounting, cost) -> None:
    policy = Oracle() if k is None else Fixed(k)
    found = speedups(
        drawn,
        proposer,
        policy,
        cost=cost,
        accounting=accounting,
        match_probability=1,
        switch_s=1e-3,
    )
    loop = [
        speedup(drawn, cost, Proposer(proposer, k, accounting), copies, switch_s=1e-3)
        if proposer == "combine"
        else speedup(drawn, cost, Proposer(proposer, k, accounting), copies)
        for copies in SIZES
    ]
    assert found == pytest.approx(loop, abs=1e-4)


@given(traces())
def test_dearer_accounting_never_gains(drawn) -> None:
    published, winner, both = (
        speedups(drawn, "combine", Oracle(), accounting=accounting)[0] for accounting in Accounting
    )
    assert published >= winner - 1e-4
    assert winner >= both - 1e-4


def test_an_oracle_with_nothing_to_accept_costs_ngram_nothing_and_eagle_its_draft() -> None:
    hopeless = trace(request(100, ngram=[1] * 50, eagle3=[1] * 50))
    assert speedups(hopeless, "ngram", Oracle()) == [1.0, 1.0, 1.0]
    assert all(value < 1 for value in speedups(hopeless, "eagle3", Oracle()))


def test_misses_of_ngram_cost_nothing() -> None:
    hopeless = trace(request(100, ngram=[1] * 50))
    assert speedups(hopeless, "ngram", Fixed(5), match_probability=0) == [1.0, 1.0, 1.0]
    rarely, often = (
        speedups(hopeless, "ngram", Fixed(5), match_probability=chance)[-1] for chance in (0.2, 0.8)
    )
    assert often < rarely < 1


def test_the_same_seed_draws_the_same_requests_and_misses() -> None:
    many = trace(*(request(10 + i, ngram=[1 + i % 3] * (5 + i)) for i in range(40)))
    first, again, other = (
        simulate(many, "ngram", [Fixed(3)], Setup(sample=20, seed=seed)) for seed in (1, 1, 2)
    )
    assert first == again != other


def test_dynamic_by_batch_is_fixed_at_the_k_of_the_batch() -> None:
    some = trace(request(50, eagle3=[3, 1, 4, 2] * 20), request(80, eagle3=[1, 2, 5] * 9))
    dynamic = speedups(some, "eagle3", DynamicByBatch(((1, 5), (16, 2), (64, 0))))
    assert dynamic == [
        speedups(some, "eagle3", Fixed(5))[0],
        speedups(some, "eagle3", Fixed(2))[1],
        1.0,
    ]


def test_a_request_of_one_token_has_nothing_to_gain() -> None:
    assert speedups(trace(request(5, eagle3=[1])), "eagle3", Fixed(3)) == [1.0, 1.0, 1.0]


def test_a_longer_trace_is_sampled_and_a_shorter_one_is_used_whole() -> None:
    few = trace(*(request(10 + i, eagle3=[1 + i] * 9) for i in range(5)))
    assert speedups(few, "eagle3", Oracle(), sample=300) == speedups(
        few, "eagle3", Oracle(), sample=5
    )
    assert speedups(few, "eagle3", Oracle(), sample=1) != speedups(few, "eagle3", Oracle())


def test_what_does_not_fit_together_is_said() -> None:
    only_ngram = trace(request(5, ngram=[1, 2, 1]), name="mine")
    with pytest.raises(TraceError, match="no acceptance of 'eagle3'; the trace holds ngram"):
        simulate(only_ngram, "combine", [Oracle()], Setup())
    with pytest.raises(CostModelError, match="no draft cost for 'mtp'; it has eagle3, ngram"):
        simulate(only_ngram, "mtp", [Oracle()], Setup())
    with pytest.raises(PolicyError, match="give --match-probability"):
        simulate(only_ngram, "ngram", [Fixed(3)], Setup())
    with pytest.raises(PolicyError, match="finite"):
        Setup(switch_s=float("nan"))


def test_records_are_flat() -> None:
    some = trace(request(5, eagle3=[1, 2, 1]))
    assert simulate(some, "eagle3", [Oracle()], Setup(cost=H100_LLAMA31_8B, batch_sizes=(4,))) == [
        {
            "trace": "gsm8k",
            "proposer": "eagle3",
            "policy": "oracle",
            "accounting": "published",
            "batch_size": 4,
            "speedup": pytest.approx(0.835, abs=0.2),
        }
    ]
