"""What the stage timer costs: rounds with and without it, in turn (A B B A), on one engine.

Prints the ratio of throughputs for each variant at batch sizes 1 and 16, that of all pairs, and
what the timer takes of a step by itself, which a noisy machine cannot hide; under 1 % is wanted:

    python benchmarks/stage_timer.py
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
import timeit
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

from draftgate.engine import EngineHost, EngineSpec, RoundPrompt, RoundRequest
from draftgate.engine.stages.clock import host_clock
from draftgate.engine.stages.load import load_of
from draftgate.engine.stages.timeline import UNATTRIBUTED, Timeline
from draftgate.profile.load import load_profile
from draftgate.testbed import corpus

PROMPTS = {1: 3, 16: 32}
MAX_TOKENS = 192


def log_ratios(host: EngineHost, request: RoundRequest, pairs: int) -> list[float]:
    """Throughput with the timer over throughput without, the logarithm of each pair's."""
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
        found.append(math.log(rates[True] / rates[False]))
    return found


def cost(logs: Sequence[float]) -> str:
    """Share of throughput that the timer takes, from log ratios of pairs."""
    error = statistics.stdev(logs) / math.sqrt(len(logs))
    share = 100 * (1 - math.exp(statistics.fmean(logs)))
    return f"cost {share:+.2f} % +- {100 * error:.2f} (standard error, n={len(logs)} pairs)"


def line(name: str, batch_size: int, logs: Sequence[float]) -> str:
    median = math.exp(statistics.median(logs))
    return f"{name:16} bs{batch_size:<3} with / without = {median:.4f}; {cost(logs)}"


def step_us(scopes: int, requests: int, number: int = 2_000, repeats: int = 5) -> float:
    """Microseconds of a step's marks and of reading its load, the best of ``repeats``."""
    names = [str(index) for index in range(requests)]
    scheduled = SimpleNamespace(
        scheduled_spec_decode_tokens={name: [1, 2, 3] for name in names},
        num_scheduled_tokens=dict.fromkeys(names, 4),
        scheduled_new_reqs=[],
        scheduled_cached_reqs=SimpleNamespace(num_computed_tokens=[100] * requests),
        total_num_scheduled_tokens=4 * requests,
    )

    def steps() -> float:
        timeline = Timeline(host_clock(), host_scopes=True)

        def one() -> None:
            timeline.begin_step(load_of(scheduled))
            for _ in range(scopes):
                with timeline.scope("forward"):
                    pass

        return timeit.timeit(one, number=number)

    return 1e6 * min(steps() for _ in range(repeats)) / number


def marks(host: EngineHost, request: RoundRequest) -> str:
    """What the timer does in a step, each scope once, against the step."""
    steps = host.generate(request.model_copy(update={"stages": True})).stages
    assert steps is not None
    scopes = len(steps.scopes_ms.keys() - {UNATTRIBUTED})
    us = step_us(scopes, request.batch_size)
    share = us / (1000 * statistics.median(steps.step_ms))
    return f"{scopes} scopes and the load take {us:.1f} us = {100 * share:.2f} % of a step"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--variants", nargs="*", help="such as none ngram-k3; default all")
    arguments = parser.parse_args()
    target = load_profile("cpu").targets[0]
    everything: list[float] = []
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
                found = log_ratios(host, request, arguments.pairs)
                everything += found
                print(
                    f"{line(variant.name, batch_size, found)}; {marks(host, request)}",
                    flush=True,
                )
    print(f"all: {cost(everything)}")


if __name__ == "__main__":
    main()
