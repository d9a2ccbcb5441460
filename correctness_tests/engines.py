"""Engines of the testbed for whole-engine tests: started on first use, and kept while used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from draftgate.engine import EngineHost, EngineSpec, scripted_config
from draftgate.engine.forkserver import ForkServers, can_fork_engines
from draftgate.engine.hooks import Hook
from draftgate.engine.interpreter import Interpreter
from draftgate.engine.process import spawn
from draftgate.lossless.mutants.hook import planted
from draftgate.lossless.repairs import REPAIRS

RESIDENT = 10  # engines of 0.7 GB each; those that were not used for the longest time make room
K = 4
IN_FLIGHT = 4  # fewer than prompts, so that slots are used again
SMALL_KV_CACHE_GIB = 0.0075  # 650 tokens of the target: six requests of 200 do not fit
MAX_MODEL_LEN = 512
MAX_TOKENS = 100
HOT = 2.0  # at 1 the tiny target is certain of seven tokens in eight, and these say nothing

NGRAM = {
    "method": "ngram",
    "num_speculative_tokens": 3,
    "prompt_lookup_min": 2,
    "prompt_lookup_max": 4,
}
DRAFT_MODEL = {
    "method": "draft_model",
    "model": "testbed:llama-tiny-draft",
    "num_speculative_tokens": 3,
}
# k by the number of running requests, which changes from step to step.
DYNAMIC = {"num_speculative_tokens_per_batch_size": [(1, 2, 3), (3, 3, 0), (4, 5, 1), (6, 8, 2)]}
VARIANTS: Mapping[str, dict[str, Any]] = {
    "scripted": scripted_config(K),
    "ngram": NGRAM,
    "draft_model": DRAFT_MODEL,
    "draft_model-dynamic": {**DRAFT_MODEL, **DYNAMIC},
    "draft_model-sampling": {**DRAFT_MODEL, "draft_sample_method": "probabilistic"},
    "draft_model-sampling-dynamic": {
        **DRAFT_MODEL,
        **DYNAMIC,
        "draft_sample_method": "probabilistic",
    },
    "own-draft-sampling": {
        **DRAFT_MODEL,
        "model": "testbed:llama-tiny",
        "draft_sample_method": "probabilistic",
    },
    "eagle": {"method": "eagle", "model": "testbed:llama-tiny-eagle", "num_speculative_tokens": 3},
    "eagle3": {
        "method": "eagle3",
        "model": "testbed:llama-tiny-eagle3",
        "num_speculative_tokens": 3,
    },
}
# Everything that makes a scheduler's life hard, at once: chunks of the prompt, cached prefixes, too
# little KV cache for the batch, and outputs up to the longest length.
STRESS: Mapping[str, Any] = {
    "max_num_batched_tokens": 48,
    "enable_chunked_prefill": True,
    "enable_prefix_caching": True,
    "block_size": 32,
}
# What begins a thinking section and what is written when its budget is spent: a token that no text
# holds (id 7) and one token; the same and several; and tokens that texts hold again and again.
THINKING_BEGINS = 7
REASONING = {"thinking": ("#", "."), "phrase": ("#", "</think>"), "lines": ("\n", ".")}
ENGINE_ARGS: Mapping[str, Mapping[str, Any]] = {
    "stress": STRESS,
    "thinks-first": {
        "structured_outputs_config": {
            "reasoning_parser": "testbed",
            "reasoning_parser_plugin": str(Path(__file__).with_name("thinking_parser.py")),
        }
    },
    **{
        mode: {"reasoning_config": {"reasoning_start_str": begin, "reasoning_end_str": end}}
        for mode, (begin, end) in REASONING.items()
    },
    **{
        mode: {"logprobs_mode": mode}
        for mode in ("processed_logprobs", "raw_logits", "processed_logits")
    },
}
HOOKS: Mapping[str, tuple[Hook, ...]] = {
    "installed": (),
    "stale-keys": (*REPAIRS, Hook(function="correctness_tests.faults:stale_keys")),
}


def spec(variant: str) -> EngineSpec:
    """The engine called ``variant``: a key of `VARIANTS`, ``none`` or ``glm-...``, each possibly
    followed by ``+`` and a key of `ENGINE_ARGS`, ``installed`` (no repairs) or ``stale-keys`` (a
    planted fault)."""
    name, _, mode = variant.partition("+")
    target = "glm-tiny" if name.startswith("glm") else "llama-tiny"
    configs: Mapping[str, dict[str, Any] | None] = {
        "none": None,
        "glm-none": None,
        "glm-mtp": {"method": "mtp", "num_speculative_tokens": 3},
        **VARIANTS,
    }
    return EngineSpec(
        model=f"testbed:{target}",
        dtype="float32",
        max_model_len=MAX_MODEL_LEN,
        max_num_seqs=8,
        threads=1,  # several engines share the machine with whatever else runs there
        kv_cache_gib=SMALL_KV_CACHE_GIB if mode == "stress" else 0.1,
        speculative_config=configs[name],
        engine_args=dict(ENGINE_ARGS.get(mode, {})),
        hooks=(*HOOKS.get(mode, REPAIRS), *(planted() if configs[name] else ())),
    )


@dataclass
class Engines:
    """Running engines by name, forked from one process that has imported vLLM where that works."""

    log_dir: Path
    _running: dict[str, EngineHost] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._servers = ForkServers(self.log_dir)
        self._launch = self._servers.launch if can_fork_engines(Interpreter.this()) else spawn

    def __getitem__(self, variant: str) -> EngineHost:
        """Running; anew where a test before this one ended it."""
        if variant in self._running and not self._running[variant].alive:
            self.close(variant)
        host = self._running.pop(variant, None) or self._started(variant)
        self._running[variant] = host  # the last of the dict is the one used last
        return host

    def _started(self, variant: str) -> EngineHost:
        if len(self._running) >= RESIDENT:
            self.close(next(iter(self._running)))
        host = EngineHost(spec(variant), label=variant, log_dir=self.log_dir, launch=self._launch)
        return host.__enter__()

    def close(self, *variants: str) -> None:
        """End some engines, or all."""
        for variant in variants or tuple(self._running):
            self._running.pop(variant).close()
        if not self._running:
            self._servers.close()
