"""What the shipped family must show to be a testbed (issue 2, item 2), on real vLLM.

Acceptance is read from the committed portable baselines: `make perf` holds engines to them.
"""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from draftgate.baseline.store import BaselineStore
from draftgate.engine import EngineHost, EngineSpec, RoundPrompt, RoundRecord, RoundRequest
from draftgate.measure.exact import ExactMetrics
from draftgate.profile import load_profile
from draftgate.testbed import corpus, family, quality
from draftgate.testbed import tokenizer as tok
from draftgate.testbed.batches import collate, encoder

ROOT = Path(__file__).parents[2]
PROMPTS = 32
ISA = "x86-avx2-fp32"
LEAST_AL = {"draft_model-k3": 2.4, "eagle-k3": 2.2, "eagle3-k3": 2.5, "mtp-k3": 2.2}
MOST_AL = 3.6


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RoundRecord]:
    """Standard decoding of the evaluation prompts, by workload."""
    spec = EngineSpec(
        model="testbed:llama-tiny", dtype="float32", max_model_len=1024, max_num_seqs=16
    )
    limits = {w.name: w.max_tokens for w in load_profile("cpu").workloads}
    with EngineHost(spec, label="family", log_dir=tmp_path_factory.mktemp("logs")) as host:
        return {name: host.generate(_request(name, limit)) for name, limit in limits.items()}


def _request(workload: str, limit: int) -> RoundRequest:
    examples = corpus.evaluation(workload, PROMPTS)
    prompts = tuple(RoundPrompt(prompt_id=str(i), text=e.prompt) for i, e in enumerate(examples))
    return RoundRequest(prompts=prompts, batch_size=16, max_tokens=limit)


@pytest.mark.parametrize("workload", ["instructcoder", "cnn_dailymail"])
def test_target_copies_from_the_prompt(workload: str) -> None:
    folder = family.root() / "llama-tiny"
    encode = encoder(tok.load(folder))
    batch = collate([encode(e) for e in corpus.evaluation(workload, PROMPTS)])
    assert quality.copied_accuracy(quality.load_target(folder), batch) >= 0.9


def test_half_of_the_code_edits_are_exactly_right(outputs: dict[str, RoundRecord]) -> None:
    tokenizer = tok.load(family.root() / "llama-tiny")
    answers = [e.answer for e in corpus.evaluation("instructcoder", PROMPTS)]
    texts = [
        tokenizer.decode(r.output_token_ids, skip_special_tokens=True)
        for r in outputs["instructcoder"].requests
    ]
    right = [a.strip() == t.strip() for a, t in zip(answers, texts, strict=True)]
    assert quality.share(right) >= 0.5


def test_outputs_end(outputs: dict[str, RoundRecord]) -> None:
    requests = [r for record in outputs.values() for r in record.requests]
    assert quality.share([r.finish_reason == "stop" for r in requests]) >= 0.9


def test_outputs_do_not_loop(outputs: dict[str, RoundRecord]) -> None:
    requests = [r for record in outputs.values() for r in record.requests]
    assert quality.share([quality.has_loop(r.output_token_ids) for r in requests]) < 0.05


def _stored(variant: str, workload: str) -> ExactMetrics:
    target = "glm-tiny" if variant.startswith("mtp") else "llama-tiny"
    found = BaselineStore(ROOT / "baselines").exact(f"{target}/{variant}/{workload}/bs16", ISA)
    assert found is not None
    return found.metrics


@pytest.mark.parametrize("variant", LEAST_AL)
def test_acceptance_leaves_room_to_lose_and_to_gain(variant: str) -> None:
    lengths = [_stored(variant, w).acceptance_length or 1.0 for w in corpus.WORKLOADS]
    assert LEAST_AL[variant] <= statistics.fmean(lengths) <= MOST_AL


def test_ngram_helps_where_the_prompt_is_copied_only() -> None:
    code, maths = _stored("ngram-k3", "instructcoder"), _stored("ngram-k3", "gsm8k")
    assert (code.acceptance_length or 0) >= 2.5
    assert (code.tokens_per_step or 0) >= 2.0
    assert (maths.acceptance_length or 0) <= 1.7


def test_ranking_of_variants_differs_between_workloads() -> None:
    variants = ("ngram-k3", "draft_model-k3", "eagle-k3", "eagle3-k3")
    values = {
        w: {v: _stored(v, w).tokens_per_step or 1.0 for v in variants} for w in corpus.WORKLOADS
    }
    assert quality.rankings_differ(values)


def test_the_glm_twin_decodes_the_same_tokens() -> None:
    store = BaselineStore(ROOT / "baselines")
    for workload in corpus.WORKLOADS:
        llama, glm = (
            store.exact(f"{target}/none/{workload}/bs16", ISA)
            for target in ("llama-tiny", "glm-tiny")
        )
        assert llama is not None
        assert glm is not None
        assert llama.metrics.outputs_hash == glm.metrics.outputs_hash


def test_loops_are_seen() -> None:
    assert quality.has_loop([1, 2, 3, 4] * 10)
    assert not quality.has_loop(list(range(100)) * 2)
