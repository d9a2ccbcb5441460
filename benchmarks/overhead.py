"""Throughput through draftgate against a bare `vllm.LLM.generate` loop over the same prompts.

Both engines are resident and timed in turn (A B B A), the idle one stopped as draftgate stops it.
The process that started later is some percent faster here, whichever it is: each side starts first
once. Printed for variants `none` and `ngram` at batch sizes 1 and 16:

    python benchmarks/overhead.py
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path

from draftgate.engine import EngineHost, EngineSpec, RoundPrompt, RoundRequest
from draftgate.engine.environment import child_environment
from draftgate.engine.interpreter import Interpreter
from draftgate.engine.placement import place
from draftgate.testbed import corpus
from draftgate.testbed.family import resolve

NGRAM = {
    "method": "ngram",
    "num_speculative_tokens": 3,
    "prompt_lookup_min": 3,
    "prompt_lookup_max": 7,
}
PROMPTS = {1: 3, 16: 32}
MAX_TOKENS = 192


def spec_of(config: dict[str, object] | None, batch_size: int) -> EngineSpec:
    return EngineSpec(
        model="testbed:llama-tiny",
        dtype="float32",
        max_model_len=1024,
        max_num_seqs=batch_size,
        speculative_config=config,
    )


class BareEngine:
    """A process that holds `vllm.LLM` and runs `LLM.generate` when told to."""

    def __init__(self, spec: EngineSpec, batch_size: int) -> None:
        placement = place(None)
        environment = child_environment(
            os.environ, spec, placement=placement, openmp=Interpreter.this().openmp
        )
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--bare", spec.model_dump_json(), str(batch_size)],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.read()

    def read(self) -> dict[str, float]:
        assert self.process.stdout
        for line in self.process.stdout:
            if line.startswith("{"):
                found: dict[str, float] = json.loads(line)
                return found
        raise SystemExit("the bare engine died")

    def round(self) -> float:
        assert self.process.stdin
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        answer = self.read()
        self.process.send_signal(signal.SIGSTOP)
        return answer["tokens"] / answer["seconds"]

    def close(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()  # type: ignore[union-attr]
        self.process.wait(30)


def bare(spec_json: str, batch_size: int) -> None:
    """The bare side: a user's loop, with nothing of draftgate in it but prompts and arguments."""
    from draftgate.engine.compat import pin_kernels_to_avx2
    from draftgate.engine.spec import llm_arguments

    pin_kernels_to_avx2()  # vLLM chooses them when it is imported
    from vllm import LLM, SamplingParams

    spec = EngineSpec.model_validate_json(spec_json)
    arguments = llm_arguments(spec, on_cpu=True, request_metrics=False)
    llm = LLM(**arguments | {"model": resolve(spec.model)})
    tokenizer = llm.get_tokenizer()
    prompts = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": e.prompt}], tokenize=False, add_generation_prompt=True
        )
        for e in corpus.evaluation("gsm8k", PROMPTS[batch_size])
    ]
    sampling = SamplingParams(temperature=0, max_tokens=MAX_TOKENS)
    print("{}", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        outputs = llm.generate(prompts, sampling, use_tqdm=False)
        seconds = time.perf_counter() - start
        tokens = sum(len(o.outputs[0].token_ids) for o in outputs)
        print(json.dumps({"tokens": tokens, "seconds": seconds}), flush=True)


class Ours:
    """The same engine through draftgate."""

    def __init__(self, spec: EngineSpec, batch_size: int, logs: Path) -> None:
        prompts = tuple(
            RoundPrompt(prompt_id=str(i), text=e.prompt)
            for i, e in enumerate(corpus.evaluation("gsm8k", PROMPTS[batch_size]))
        )
        self.request = RoundRequest(prompts=prompts, batch_size=batch_size, max_tokens=MAX_TOKENS)
        self.host = EngineHost(spec, label="overhead", log_dir=logs)
        self.host.launch()
        self.host.wait_ready()

    def round(self) -> float:
        record = self.host.generate(self.request)
        return record.generated_tokens / record.wall_s

    def close(self) -> None:
        self.host.close()


def ratios(spec: EngineSpec, batch_size: int, pairs: int, *, ours_first: bool) -> list[float]:
    """draftgate's throughput over the bare loop's, a value a pair."""
    with ExitStack() as stack:
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        starts = [lambda: Ours(spec, batch_size, logs), lambda: BareEngine(spec, batch_size)]
        sides = [
            stack.enter_context(closing(start()))
            for start in (starts if ours_first else starts[::-1])
        ]
        ours, bare = sides if ours_first else sides[::-1]
        for play in (ours.round, bare.round) * 2:
            play()
        found = []
        for pair in range(pairs):
            if pair % 2:
                theirs, mine = bare.round(), ours.round()
            else:
                mine, theirs = ours.round(), bare.round()
            found.append(mine / theirs)
    return found


def compare(name: str, config: dict[str, object] | None, batch_size: int, pairs: int) -> None:
    spec = spec_of(config, batch_size)
    by_start = [ratios(spec, batch_size, pairs, ours_first=first) for first in (True, False)]
    first, second = (statistics.median(found) for found in by_start)
    print(
        f"{name:6} bs{batch_size:<3} draftgate / bare = {(first * second) ** 0.5:.3f} "
        f"({first:.3f} started first, {second:.3f} second; n={pairs} pairs each)",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--bare", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.bare:
        bare(arguments.bare[0], int(arguments.bare[1]))
        return
    for name, config in (("none", None), ("ngram", NGRAM)):
        for batch_size in PROMPTS:
            compare(name, config, batch_size, arguments.pairs)


if __name__ == "__main__":
    main()
