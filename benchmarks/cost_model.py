"""Does the fitted cost model predict cells it has not seen? Measures the testbed, fits, predicts.

Each variant runs at several k and batch sizes with the stage timer on. The model is fitted to some
of these cells, and its step times of the others are compared with the measured ones; the median
error is to be under 10 %:

    python benchmarks/cost_model.py --out cost.json
    draftgate simulate TRACE --cost-model cost.json
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from draftgate.analysis.fit_cost import (
    StagedCell,
    fit_cost_model,
    measured_step_s,
    predicted_step_s,
)
from draftgate.engine import EngineHost, EngineSpec, RoundPrompt, RoundRequest
from draftgate.profile.load import load_profile
from draftgate.profile.model import Target, Variant
from draftgate.testbed import corpus

FITTED_KS, HELD_OUT_KS = (1, 5), (3,)
FITTED_SIZES, HELD_OUT_SIZES = (1, 4, 16), (2, 8)
WORKLOAD = "gsm8k"
MAX_TOKENS = 128


def arms(target: Target, methods: list[str]) -> Iterator[tuple[str | None, int, Any]]:
    """(proposer, k, speculative config), the control first."""
    yield None, 0, None
    for variant in target.variants:
        if variant.method in methods:
            for k in sorted(FITTED_KS + HELD_OUT_KS):
                yield variant.method, k, with_k(variant, k)


def with_k(variant: Variant, k: int) -> dict[str, Any]:
    return {**(variant.speculative_config or {}), "num_speculative_tokens": k}


def measure(target: Target, proposer: str | None, k: int, config: Any) -> Iterator[StagedCell]:
    sizes = sorted(FITTED_SIZES + HELD_OUT_SIZES)
    spec = EngineSpec.from_target(target, config, max_num_seqs=max(sizes), seed=42)
    name = f"{proposer or 'none'}-k{k}"
    with (
        tempfile.TemporaryDirectory() as logs,
        EngineHost(spec, label=f"cost/{name}", log_dir=Path(logs)) as host,
    ):
        for size in sizes:
            examples = corpus.evaluation(WORKLOAD, max(2, size))
            request = RoundRequest(
                prompts=tuple(
                    RoundPrompt(prompt_id=str(i), text=e.prompt) for i, e in enumerate(examples)
                ),
                batch_size=size,
                max_tokens=MAX_TOKENS,
            )
            host.generate(request)
            record = host.generate(request.model_copy(update={"stages": True}))
            assert record.stages is not None
            yield StagedCell(f"{name}/bs{size}", proposer, k, record.stages)


def is_held_out(cell: StagedCell) -> bool:
    size = int(cell.name.rpartition("bs")[2])
    return size in HELD_OUT_SIZES or cell.k in HELD_OUT_KS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=["ngram", "draft_model", "eagle3"])
    parser.add_argument("--out", type=Path, help="write the model, fitted to all cells, as JSON")
    arguments = parser.parse_args()
    target = load_profile("cpu").targets[0]
    cells = [
        cell
        for proposer, k, config in arms(target, arguments.methods)
        for cell in measure(target, proposer, k, config)
    ]
    fit = fit_cost_model("testbed", [cell for cell in cells if not is_held_out(cell)])
    for name, found in fit.residuals.items():
        print(f"fitted {name:18} {found.n:5} steps, error {100 * found.median:.1f} % (median)")
    errors = []
    for cell in filter(is_held_out, cells):
        predicted, measured = predicted_step_s(fit.model, cell), measured_step_s(cell)
        errors.append(abs(predicted / measured - 1))
        print(
            f"held out {cell.name:18} measured {1000 * measured:6.2f} ms, predicted "
            f"{1000 * predicted:6.2f} ms ({100 * (predicted / measured - 1):+.1f} %)"
        )
    print(
        f"{len(errors)} held-out cells: median error {100 * statistics.median(errors):.1f} %, "
        f"largest {100 * max(errors):.1f} %"
    )
    if arguments.out:
        model = fit_cost_model("testbed", cells).model
        arguments.out.write_text(json.dumps(asdict(model), indent=1) + "\n")


if __name__ == "__main__":
    main()
