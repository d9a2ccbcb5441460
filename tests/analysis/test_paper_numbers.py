"""The paper's figures, from its own traces and constants; the biases of its accounting undone."""

from __future__ import annotations

import pytest

from draftgate.analysis.across_requests import spread
from draftgate.analysis.choices import Accounting
from draftgate.analysis.cost_models import H100_LLAMA31_8B_BY_K
from draftgate.analysis.open_trace import open_trace
from draftgate.analysis.policies import Fixed, Oracle
from draftgate.analysis.simulate import Setup, simulate
from draftgate.analysis.steps import trace_steps

NAMES = {"instructcoder": "InstructCoder", "gsm8k": "GSM8K"}


def speedups(path, proposer, policy, **setup) -> list[float]:
    return [r["speedup"] for r in simulate(open_trace(path), proposer, [policy], Setup(**setup))]


@pytest.mark.parametrize("workload", NAMES)
@pytest.mark.parametrize("line", ["k=1", "k=3", "k=5", "oracle"])
@pytest.mark.parametrize("proposer", ["ngram", "eagle3"])
def test_figure_10(paper_trace, paper_figures, workload, line, proposer) -> None:
    label = f"{'EAGLE' if proposer == 'eagle3' else proposer} {NAMES[workload]}"
    policy = Oracle() if line == "oracle" else Fixed(int(line[2:]))
    found = speedups(paper_trace(workload), proposer, policy)
    assert found == pytest.approx(paper_figures["fig10"][label][line], abs=0.01)


@pytest.mark.parametrize("workload", NAMES)
def test_figure_12(paper_trace, paper_figures, workload) -> None:
    found = speedups(paper_trace(workload), "combine", Oracle())
    assert found == pytest.approx(paper_figures["fig12_combine"][NAMES[workload]], abs=0.01)


@pytest.mark.parametrize(
    ("workload", "accounting", "expected"),
    [
        ("instructcoder", Accounting.PUBLISHED, 4.89),
        ("instructcoder", Accounting.WINNER, 4.33),
        ("instructcoder", Accounting.BOTH, 3.84),
        ("gsm8k", Accounting.PUBLISHED, 2.80),
        ("gsm8k", Accounting.WINNER, 2.37),
        ("gsm8k", Accounting.BOTH, 2.17),
    ],
)
def test_accounting_of_a_combination_at_batch_1(
    paper_trace, workload, accounting, expected
) -> None:
    found = speedups(paper_trace(workload), "combine", Oracle(), accounting=accounting)
    assert found[0] == pytest.approx(expected, abs=0.01)


def test_a_draft_cost_that_grows_with_k_moves_the_best_k_from_5_to_3(paper_trace) -> None:
    def best(**setup) -> int:
        path = paper_trace("gsm8k")
        return max((1, 3, 5), key=lambda k: speedups(path, "eagle3", Fixed(k), **setup)[0])

    assert best() == 5
    assert best(cost=H100_LLAMA31_8B_BY_K) == 3


@pytest.mark.parametrize(
    ("name", "workload", "proposer", "column", "tolerance"),
    [
        ("gsm8k", "GSM8K", "eagle3", "EAGLE-3", 0.02),
        ("gsm8k", "GSM8K", "ngram", "ngram", 0.02),
        ("instructcoder", "InstructCoder", "eagle3", "EAGLE-3", 0.02),
        # Another draw of prompts: the spread over requests is 4.2 tokens.
        ("instructcoder", "InstructCoder", "ngram", "ngram", 0.1),
    ],
)
def test_acceptance_across_requests(
    paper_trace, paper_figures, name, workload, proposer, column, tolerance
) -> None:
    published = paper_figures["table4_acceptance"][workload][column]
    found = spread(trace_steps(open_trace(paper_trace(name)), proposer))
    assert found.mean == pytest.approx(published[0], rel=tolerance)
