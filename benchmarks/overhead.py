"""Throughput through draftgate against a bare `vllm.LLM.generate` loop over the same prompts.

Both engines are resident and timed in turn (A B B A); the ratio is printed for variants `none` and
`ngram` at batch sizes 1 and 16:

    python benchmarks/overhead.py
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
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
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        answer = self.read()
        return answer["tokens"] / answer["seconds"]

    def close(self) -> None:
        self.process.stdin.close()  # type: ignore[union-attr]
        self.process.wait(30)


def bare(spec_json: str, batch_size: int) -> None:
    """The bare side: a user's loop, with nothing of draftgate in it but prompts and arguments."""
    from vllm import LLM, SamplingParams

    from draftgate.engine.compat import pin_kernels_to_avx2
    from draftgate.engine.spec import llm_arguments

    spec = EngineSpec.model_validate_json(spec_json)
    pin_kernels_to_avx2()
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


def compare(name: str, config: dict[str, object] | None, batch_size: int, pairs: int) -> None:
    spec = spec_of(config, batch_size)
    prompts = tuple(
        RoundPrompt(prompt_id=str(i), text=e.prompt)
        for i, e in enumerate(corpus.evaluation("gsm8k", PROMPTS[batch_size]))
    )
    request = RoundRequest(prompts=prompts, batch_size=batch_size, max_tokens=MAX_TOKENS)
    with (
        tempfile.TemporaryDirectory() as logs,
        EngineHost(spec, label=f"overhead/{name}", log_dir=Path(logs)) as host,
    ):
        loop = BareEngine(spec, batch_size)

        def ours() -> float:
            record = host.generate(request)
            return record.generated_tokens / record.wall_s

        for play in (ours, loop.round) * 2:
            play()
        ratios = []
        for pair in range(pairs):
            if pair % 2:
                theirs, mine = loop.round(), ours()
            else:
                mine, theirs = ours(), loop.round()
            ratios.append(mine / theirs)
        loop.close()
    low, high = min(ratios), max(ratios)
    print(
        f"{name:6} bs{batch_size:<3} draftgate / bare = {statistics.median(ratios):.3f} "
        f"({low:.3f}..{high:.3f}, n={pairs} pairs)",
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
