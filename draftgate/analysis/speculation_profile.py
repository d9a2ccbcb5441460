"""`speculation_profile.json`: how good a draft is, for other tools.

The keys are those of NVIDIA's Model Optimizer (`specdec_bench`, schema 1.0): Dynamo's mocker reads
the conditional rates, vLLM's `synthetic_acceptance_rates` takes the marginal ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

from draftgate.analysis.rates import acceptance_length
from draftgate.analysis.steps import Steps, measured_steps
from draftgate.measure.record import Block

SCHEMA_VERSION = "1.0"
FILE_NAME = "speculation_profile.json"
MEAN_TOLERANCE = 0.02

_ONE_K_TELLS_SMALLER = frozenset({"eagle", "eagle3", "mtp", "draft_model"})
"""Methods whose draft of k tokens begins with their draft of k - 1."""


def speculation_profile(
    cells: Sequence[Block], method: str, draft_model: str | None
) -> dict[str, Any] | None:
    """The profile of one scenario over its ``cells`` (workloads), at least one.

    Where a workload was measured at several batch sizes, give one of them: the acceptance is the
    same. None where nothing was drafted. Rates are of drafts; a step without one is not counted.
    """
    by_workload = {cell.subject.workload: measured_steps(cell.rounds[0]) for cell in cells}
    requests = [steps for group in by_workload.values() for steps in group]
    emitted = [int(count) for steps in requests for count in steps.emitted[steps.drafted > 0]]
    if not emitted:
        return None
    block = cells[0]
    k = block.subject.k
    marginal = [sum(count > i + 1 for count in emitted) / len(emitted) for i in range(k)]
    mean = sum(emitted) / len(emitted)
    return {
        "schema_version": SCHEMA_VERSION,
        "measured": True,
        "method": method,
        "draft_checkpoint": {"id": draft_model} if draft_model else None,
        "target_model": {"id": block.subject.model_id},
        "num_speculative_tokens": k,
        "block_size": None,
        "max_supported_k": k,
        "verification_method": "longest_prefix",
        "conditional_accept_rates": _rounded(_conditional(marginal)),
        "marginal_accept_rates": _rounded(marginal),
        "mean_accept_length": round(mean, 6),
        "mean_accept_length_per_request": round(_per_request_mean(requests), 6),
        "accept_length_model": (
            "chain_analytic" if method in _ONE_K_TELLS_SMALLER else "measured_per_k"
        ),
        "accept_length_by_k": _by_k(marginal, method),
        "acceptance_length_histogram": {
            str(length): count for length, count in sorted(Counter(emitted).items())
        },
        "per_category": {name: _category(group) for name, group in sorted(by_workload.items())},
        "measurement_conditions": _conditions(cells),
        "validation": _validation(mean, marginal),
    }


def _conditional(marginal: Sequence[float]) -> list[float]:
    """Each rate given that all before were accepted; 0 where none ever was."""
    before = [1.0, *marginal[:-1]]
    return [now / past if past else 0.0 for now, past in zip(marginal, before, strict=True)]


def _per_request_mean(requests: Sequence[Steps]) -> float:
    means = [
        float(drafting.mean())
        for steps in requests
        if len(drafting := steps.emitted[steps.drafted > 0])
    ]
    return sum(means) / len(means)


def _by_k(marginal: Sequence[float], method: str) -> dict[str, float]:
    """Acceptance length by k: at smaller k too where the draft of k holds theirs."""
    lengths = {
        str(i): round(1 + length, 6) for i, length in enumerate(accumulate(marginal), start=1)
    }
    if method in _ONE_K_TELLS_SMALLER:
        return lengths
    return {str(len(marginal)): lengths[str(len(marginal))]}


def _category(requests: Sequence[Steps]) -> dict[str, Any]:
    length = acceptance_length(requests)
    return {
        "mean_accept_length": round(length.value, 6) if length else None,
        "requests": len(requests),
    }


def _conditions(cells: Sequence[Block]) -> dict[str, Any]:
    block = cells[0]
    return {
        "engine": "vllm",
        "engine_version": block.provenance.vllm,
        "hardware": block.machine.key,
        "concurrency": sorted({cell.subject.batch_size for cell in cells}),
        "workload_hashes": {cell.subject.workload: cell.subject.workload_hash for cell in cells},
    }


def _validation(mean: float, marginal: Sequence[float]) -> dict[str, Any]:
    """The identity that ties the rates to the mean; it fails where tokens beyond k were counted."""
    implied = 1 + sum(marginal)
    rising = [
        {"position": i, "value": marginal[i], "previous": marginal[i - 1]}
        for i in range(1, len(marginal))
        if marginal[i] > marginal[i - 1]
    ]
    return {
        "mean_consistency": {
            "implied_mean_accept_length": round(implied, 6),
            "reported_mean_accept_length": round(mean, 6),
            "abs_delta": round(abs(implied - mean), 6),
            "tolerance": MEAN_TOLERANCE,
            "passed": abs(implied - mean) <= MEAN_TOLERANCE,
        },
        "marginal_monotonicity": {"passed": not rising, "violations": rising},
    }


def _rounded(rates: Sequence[float]) -> list[float]:
    return [round(rate, 6) for rate in rates]
