"""The V2 runner, which a GPU runs by default, emits what V1 and standard decoding emit.

Whole engines on the tiny family, float32, V2 with interpreted kernels: greedy text token by token,
sampled text by its probability integral transform. Some ten tokens a second: one variant in the
short run, all of them in the long one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from drafting import accepts_some
from engines import ENGINE_ARGS, HOT, STRESS, THINKING_BEGINS, Engines

from draftgate.engine import (
    EngineHost,
    EngineSpec,
    Probe,
    ProbeRequest,
    RoundPrompt,
    RoundRequest,
    Sampling,
    Timeouts,
)
from draftgate.engine.records import RoundRecord
from draftgate.lossless.equality import Text
from draftgate.lossless.features import FEATURES, LEAST_LENGTH_AT_END, NAMED_LOGPROBS
from draftgate.lossless.known_issues import known_issue
from draftgate.lossless.mutants.hook import planted
from draftgate.lossless.pit import Calibration
from draftgate.lossless.probe_equality import differences
from draftgate.lossless.runners import interpreted_v2
from draftgate.lossless.whole_engine import sampled, sampled_calibration
from draftgate.profile import Target, load_profile
from draftgate.workload import load_workload

pytestmark = pytest.mark.engine

PROFILE = load_profile("cpu")
SHORT = "llama-tiny/eagle3-k3"
SAMPLING = "draft_model-k3"  # of the first target
RATES = [0.8, 0.5, 0.2]
V2_FEATURES = {**FEATURES, "least-length-at-end": LEAST_LENGTH_AT_END}
SHORT_FEATURES = ("min-tokens-beyond-end", "frequency-penalty", "bad-words", "logprobs", "regex")
# 320 tokens with the head's layer: two requests of 160 fit, four do not.
TIGHT_LENGTH, TIGHT_KV_CACHE_GIB = 160, 0.0037
PATIENT = Timeouts(request=1800)  # a probe is silent until its end
DRAFTING = [
    pytest.param(target, variant.name, id=f"{target.name}-{variant.name}", marks=marks)
    for target in PROFILE.targets
    for variant in target.variants
    if variant.speculative_config is not None
    for marks in [() if f"{target.name}/{variant.name}" == SHORT else (pytest.mark.slow,)]
]
Run = Callable[..., RoundRecord]
Calibrated = Callable[[str, Calibration], None]


def prompts(count: int) -> tuple[RoundPrompt, ...]:
    """Short prompts: the interpreter pays for each token."""
    workloads = {workload.name: workload for workload in PROFILE.workloads}
    frozen = [load_workload(workloads[name]).prompts for name in ("gsm8k", "sharegpt")]
    shortest = sorted((p for ps in frozen for p in ps), key=lambda prompt: len(prompt.text))
    return tuple(RoundPrompt(prompt_id=p.prompt_id, text=p.text) for p in shortest[:count])


def spec_of(target: Target, variant: str, **changes: object) -> EngineSpec:
    config = next(v.speculative_config for v in target.variants if v.name == variant)
    spec = EngineSpec.from_target(target, config, max_num_seqs=4, seed=PROFILE.seed)
    hooks = planted() if config else ()
    return spec.model_copy(update={"max_model_len": 512, "hooks": hooks} | changes)


def config_of(variant: str) -> dict[str, Any]:
    """The speculative config of a variant of the first target."""
    variants = {v.name: v.speculative_config for v in PROFILE.targets[0].variants}
    return variants[variant] or {}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A round on a fresh engine; the records of sound engines are kept."""
    logs = tmp_path_factory.mktemp("engines")
    known: dict[tuple[str, str], RoundRecord] = {}

    def round_of(spec: EngineSpec, request: RoundRequest) -> RoundRecord:
        key = spec.model_dump_json(), request.model_dump_json()
        if key not in known:
            label = f"{len(known)}-{spec.runner or 'default'}"
            with EngineHost(spec, label=label, log_dir=logs) as host:
                if spec.runner is not None:
                    assert host.info.runner == spec.runner
                known[key] = host.generate(request)
        return known[key]

    return round_of


@pytest.mark.parametrize(("target", "variant"), DRAFTING)
def test_greedy_text_is_that_of_standard_decoding_and_of_v1(
    run: Run, target: Target, variant: str
) -> None:
    request = RoundRequest(prompts=prompts(3), batch_size=2, max_tokens=16)
    spec = spec_of(target, variant)
    v2 = run(interpreted_v2(spec), request)
    v1 = run(spec.model_copy(update={"runner": "v1"}), request)
    control = run(spec_of(target, "none", runner="v1"), request)
    assert texts(v2) == texts(control)
    assert texts(v1) == texts(control)
    accepts_some(v2.counters)


def v2_spec(**engine_args: object) -> EngineSpec:
    """The short run's variant on the V2 runner."""
    spec = interpreted_v2(spec_of(PROFILE.targets[0], SHORT.partition("/")[2]))
    return spec.model_copy(update={"engine_args": {**spec.engine_args, **engine_args}})


@pytest.fixture(scope="module")
def v2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineHost]:
    """The short run's variant, resident."""
    spec, logs = v2_spec(**ENGINE_ARGS["phrase"]), tmp_path_factory.mktemp("v2")
    with EngineHost(spec, label="v2", log_dir=logs, timeouts=PATIENT) as host:
        yield host


@pytest.mark.parametrize(
    "feature",
    [f if f in SHORT_FEATURES else pytest.param(f, marks=pytest.mark.slow) for f in V2_FEATURES],
)
def test_feature(engines: Engines, standard: list[Text], v2: EngineHost, feature: str) -> None:
    """Whatever a request asks for, the answer is that of standard decoding on V1."""
    shortest = sorted(standard, key=lambda text: len(text.prompt + text.output))
    probe = Probe(requests=V2_FEATURES[feature](shortest[:4]), in_flight=3)
    found = v2.probe(probe)
    assert differences(engines["none"].probe(probe), found) == ()
    accepts_some(found.counters)


def test_thinking_budget(engines: Engines, standard: list[Text], v2: EngineHost) -> None:
    """Words of several tokens end it, at each place of a window."""
    shortest = sorted(standard, key=lambda text: len(text.prompt))
    requests = tuple(
        ProbeRequest(
            request_id=text.name,
            prompt=(*text.prompt, THINKING_BEGINS),
            sampling=Sampling(max_tokens=20, thinking_token_budget=2 + index),
        )
        for index, text in enumerate(shortest[:4])
    )
    probe = Probe(requests=requests, in_flight=2)
    found = v2.probe(probe)
    assert differences(engines["none+phrase"].probe(probe), found) == ()
    accepts_some(found.counters)


@pytest.mark.slow
@known_issue("L15", "v2-engine")
def test_logprobs_of_named_tokens(engines: Engines, standard: list[Text], v2: EngineHost) -> None:
    shortest = sorted(standard, key=lambda text: len(text.prompt + text.output))
    probe = Probe(requests=NAMED_LOGPROBS(shortest[:4]), in_flight=3)
    assert differences(engines["none"].probe(probe), v2.probe(probe)) == ()


@pytest.mark.slow
def test_thinking_that_begins_within_a_window(
    engines: Engines, standard: list[Text], tmp_path: Path
) -> None:
    """Every new line begins thinking."""
    spec = v2_spec(**ENGINE_ARGS["lines"])
    requests = tuple(
        ProbeRequest(
            request_id=text.name,
            prompt=text.prompt,
            sampling=Sampling(max_tokens=48, thinking_token_budget=index),
        )
        for index, text in enumerate(standard)
    )
    probe = Probe(requests=requests, in_flight=4)
    with EngineHost(spec, label="lines", log_dir=tmp_path, timeouts=PATIENT) as host:
        found = host.probe(probe)
    assert differences(engines["none+lines"].probe(probe), found) == ()
    accepts_some(found.counters)


@pytest.mark.slow
def test_preemption_and_chunked_prefill(
    engines: Engines, standard: list[Text], tmp_path: Path
) -> None:
    """Prompts in pieces, and too little KV cache for the batch."""
    sampling = Sampling(max_tokens=60, ignore_eos=True)
    requests = tuple(
        ProbeRequest(request_id=text.name, prompt=text.prompt[-80:], sampling=sampling)
        for text in standard[:5]
    )
    probe = Probe(requests=requests, in_flight=4)
    spec = v2_spec(**STRESS).model_copy(
        update={"max_model_len": TIGHT_LENGTH, "kv_cache_gib": TIGHT_KV_CACHE_GIB}
    )
    with EngineHost(spec, label="stress", log_dir=tmp_path, timeouts=PATIENT) as host:
        found = host.probe(probe)
    assert differences(engines["none"].probe(probe), found) == ()
    assert found.preemptions > 0
    accepts_some(found.counters)


@pytest.mark.slow
@pytest.mark.parametrize("drafts", ["greedy", "probabilistic"])
@pytest.mark.parametrize("verification", ["standard", "block"])
def test_sampled_text_follows_the_target(
    tmp_path: Path, calibrated: Calibrated, verification: str, drafts: str
) -> None:
    """Coarsely, for want of tokens: it prints what it would find. L10 is too small for it, and is
    held to its law in `test_draft_streams.py`."""
    methods = {"rejection_sample_method": verification, "draft_sample_method": drafts}
    sampling = spec_of(
        PROFILE.targets[0], SAMPLING, speculative_config=config_of(SAMPLING) | methods
    )
    standard = spec_of(PROFILE.targets[0], "none", runner="v1")
    with (
        EngineHost(
            interpreted_v2(sampling), label="sampling", log_dir=tmp_path, timeouts=PATIENT
        ) as engine,
        EngineHost(standard, label="standard", log_dir=tmp_path) as target,
    ):
        chosen = prompts(8)
        token_ids = target.tokenize(prompt.text for prompt in chosen)
        named = [(p.prompt_id, ids) for p, ids in zip(chosen, token_ids, strict=True)]
        texts, _ = sampled(engine, named, temperature=HOT, tokens=100, in_flight=4)
        found = sampled_calibration(texts, target, temperature=HOT)
    calibrated(f"{verification}, {drafts} drafts", found)


@pytest.mark.slow
def test_synthetic_acceptance_hits_its_rates(run: Run) -> None:
    """Rates are marginal: the share of steps in which position i is accepted."""
    synthetic = config_of(SAMPLING) | {
        "rejection_sample_method": "synthetic",
        "synthetic_acceptance_rates": RATES,
    }
    spec = spec_of(PROFILE.targets[0], SAMPLING, speculative_config=synthetic)
    request = RoundRequest(prompts=prompts(8), batch_size=4, max_tokens=100)
    counters = run(interpreted_v2(spec), request).counters
    assert counters is not None
    for rate, accepted in zip(RATES, counters.per_position, strict=True):
        error = 5 * (rate * (1 - rate) / counters.drafts) ** 0.5  # 5 standard errors
        assert abs(accepted / counters.drafts - rate) < error


def texts(record: RoundRecord) -> list[tuple[int, ...]]:
    return [request.output_token_ids for request in record.requests]
