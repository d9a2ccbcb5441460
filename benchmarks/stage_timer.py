"""What the stage timer costs: rounds with and without it, in turn (A B B A), on one engine.

Prints the ratio of throughputs for each variant at batch sizes 1 and 16, and what the timer's marks
take by themselves, which a noisy machine cannot hide; under 1 % is wanted:

    python benchmarks/stage_timer.py
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
import timeit
from pathlib import Path

from draftgate.engine import EngineHost, EngineSpec, RoundPrompt, RoundRequest
from draftgate.engine.stages.clock import host_clock
from draftgate.engine.stages.timeline import UNATTRIBUTED, Timeline
from draftgate.profile.load import load_profile
from draftgate.testbed import corpus

PROMPTS = {1: 3, 16: 32}
MAX_TOKENS = 192


def ratios(host: EngineHost, request: RoundRequest, pairs: int) -> list[float]:
    """Throughput with the timer over throughput without, one a pair."""
    staged = request.model_copy(update={"stages": True})

    def throughput(chosen: RoundRequest) -> float:
        record = host.generate(chosen)
        return record.generated_tokens / record.wall_s

    for chosen in (request, staged):
        throughput(chosen)
    found = []
    for pair in range(pairs):
        first, second = (request, staged) if pair % 2 else (staged, request)
        rates = {first.stages: throughput(first), second.stages: throughput(second)}
        found.append(rates[True] / rates[False])
    return found


def line(name: str, batch_size: int, found: list[float]) -> str:
    logs = [math.log(ratio) for ratio in found]
    error = statistics.stdev(logs) / math.sqrt(len(logs))
    cost = 100 * (1 - math.exp(statistics.fmean(logs)))
    return (
        f"{name:16} bs{batch_size:<3} with / without = {statistics.median(found):.4f} "
        f"(n={len(found)} pairs); cost {cost:+.2f} % +- {100 * error:.2f} (standard error)"
    )


def scope_us(number: int = 20_000, repeats: int = 5) -> float:
    """Microseconds to open and close one scope, the best of ``repeats``."""

    def scopes() -> float:
        timeline = Timeline(host_clock(), host_scopes=True)

        def one() -> None:
            with timeline.scope("forward"):
                pass

        return timeit.timeit(one, number=number)

    return 1e6 * min(scopes() for _ in range(repeats)) / number


def marks(host: EngineHost, request: RoundRequest, us: float) -> str:
    """The scopes of a step, each once, against the step."""
    steps = host.generate(request.model_copy(update={"stages": True})).stages
    assert steps is not None
    scopes = len(steps.scopes_ms.keys() - {UNATTRIBUTED})
    step_us = 1000 * statistics.median(steps.step_ms)
    return f"{scopes} scopes of {us:.2f} us = {100 * scopes * us / step_us:.2f} % of a step"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--variants", nargs="*", help="such as none ngram-k3; default all")
    arguments = parser.parse_args()
    target, us = load_profile("cpu").targets[0], scope_us()
    for variant in target.variants:
        if arguments.variants and variant.name not in arguments.variants:
            continue
        spec = EngineSpec.from_target(
            target, variant.speculative_config, max_num_seqs=max(PROMPTS), seed=42
        )
        with (
            tempfile.TemporaryDirectory() as logs,
            EngineHost(spec, label=f"timer/{variant.name}", log_dir=Path(logs)) as host,
        ):
            for batch_size, prompts in PROMPTS.items():
                examples = corpus.evaluation("gsm8k", prompts)
                request = RoundRequest(
                    prompts=tuple(
                        RoundPrompt(prompt_id=str(i), text=e.prompt) for i, e in enumerate(examples)
                    ),
                    batch_size=batch_size,
                    max_tokens=MAX_TOKENS,
                )
                found = ratios(host, request, arguments.pairs)
                print(
                    f"{line(variant.name, batch_size, found)}; {marks(host, request, us)}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
