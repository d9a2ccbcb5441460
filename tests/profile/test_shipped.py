"""The shipped profiles: what each promises to cover."""

from __future__ import annotations

import itertools
from collections import defaultdict

import pytest

from draftgate.profile import Profile, known_profiles, load_profile

WORKLOADS = {"instructcoder", "cnn_dailymail", "sharegpt", "gsm8k", "aime", "gpqa"}
REASONING = {"aime", "gpqa"}


def sizes(profile: Profile, target: str, workload: str) -> list[int]:
    cells = profile.cells()
    found = {c.batch_size for c in cells if c.id.startswith(f"{target}/none/{workload}/")}
    return sorted(found)


@pytest.mark.parametrize("name", known_profiles())
def test_profile_loads_and_is_called_as_its_file(name: str) -> None:
    assert load_profile(name).name == name


@pytest.mark.parametrize("name", ["cpu", "cpu-full"])
def test_every_variant_runs_on_every_workload(name: str) -> None:
    profile = load_profile(name)
    found = {(c.scenario.id, c.workload.name) for c in profile.cells()}
    scenarios = [scenario.id for scenario in profile.scenarios()]
    assert found == set(itertools.product(scenarios, WORKLOADS))
    assert {c.batch_size for c in profile.cells()} == {1, 4, 16}


def test_cpu_covers_with_few_prompts() -> None:
    profile = load_profile("cpu")
    prompts = {(c.workload.name, c.batch_size): c.workload.prompts for c in profile.cells()}
    assert prompts == {
        **{(workload, 16): 30 for workload in WORKLOADS},
        ("instructcoder", 1): 1,
        ("gsm8k", 1): 2,
        ("cnn_dailymail", 4): 4,
    }
    timed = {(c.workload.name, c.batch_size) for c in profile.cells() if c.timed}
    assert timed == {*prompts} - {(workload, 16) for workload in WORKLOADS} | {("gsm8k", 16)}
    methods = {scenario.variant.method for scenario in profile.scenarios()}
    assert methods == {"none", "ngram", "draft_model", "eagle", "eagle3", "mtp"}
    assert len(profile.cells()) == 63


def test_cpu_full_is_the_cross_product() -> None:
    profile = load_profile("cpu-full")
    assert len(profile.cells()) == len(profile.scenarios()) * len(WORKLOADS) * 3
    assert min(c.workload.prompts for c in profile.cells()) >= 30
    assert {s.variant.k for s in profile.scenarios()} == {0, 1, 3, 5}
    assert {s.id for s in load_profile("cpu").scenarios()} < {s.id for s in profile.scenarios()}


@pytest.mark.parametrize("name", ["cpu", "cpu-full"])
def test_testbed_prompts_and_outputs_fit_the_context(name: str) -> None:
    profile = load_profile(name)
    for target in profile.targets:
        assert target.max_model_len == 1024
        assert target.dtype == "float32"
        assert not target.engine_args["enable_prefix_caching"]
    assert max(spec.max_tokens for spec in profile.workloads) < 1024


PAPER = {
    "h100-llama3.1-8b": {"llama3.1-8b": {"ngram-k3", "ngram-k5", "eagle-k3", "eagle3-k3"}},
    "h100-llama3-70b": {"llama3-70b": {"ngram-k3", "ngram-k5", "eagle-k3", "draft_model-k3"}},
    "h100-qwen3-8b": {
        "qwen3-8b": {"ngram-k3", "ngram-k5", "eagle3-k3", "draft_model-k3"},
        "qwen3-8b-thinking": {"ngram-k3", "eagle3-k3"},
    },
    "h100-glm4.5-air": {"glm4.5-air": {"ngram-k3", "mtp-k3"}},
}


@pytest.mark.parametrize("name", PAPER)
def test_paper_profile_has_the_papers_variants(name: str) -> None:
    profile = load_profile(name)
    found = {t.name: {v.name for v in t.variants if v.k} for t in profile.targets}
    assert found == PAPER[name]
    assert profile.fingerprint is not None
    assert profile.fingerprint.startswith("h100-")
    for cell in profile.cells():
        assert cell.scenario.variant.k != 5 or cell.workload.name == "instructcoder"
        assert cell.workload.source == "hub"


@pytest.mark.parametrize("name", PAPER)
def test_paper_profile_has_the_papers_sizes(name: str) -> None:
    profile = load_profile(name)
    for spec in profile.workloads:
        assert spec.prompts == {"aime": 90, "gpqa": 448}.get(spec.name, 500)
        assert spec.max_tokens == (32768 if spec.name in REASONING else 8192)
    for target in profile.targets:
        for workload in (spec.name for spec in profile.workloads):
            main = [size for size in sizes(profile, target.name, workload) if size != 512]
            if workload not in REASONING:
                assert main == [1, 16, 64, 128]
            elif target.name == "glm4.5-air":
                assert main == [1, 2, 4]
            else:
                assert main == ([1, 8, 16] if target.name.endswith("thinking") else [])


@pytest.mark.parametrize("name", PAPER)
def test_paper_profile_limits_are_tighter_than_on_cpu(name: str) -> None:
    ours, cpu = load_profile(name).limits.stated(), load_profile("cpu").limits.stated()
    assert all(ours[metric] < cpu[metric] for metric in ("output_throughput", "speedup"))


def test_ngram_looks_up_three_to_seven_tokens_everywhere() -> None:
    for name in known_profiles():
        for scenario in load_profile(name).scenarios():
            if scenario.variant.method == "ngram":
                assert scenario.variant.speculative_config is not None
                config = scenario.variant.speculative_config
                assert (config["prompt_lookup_min"], config["prompt_lookup_max"]) == (3, 7)


def test_cells_of_one_name_in_a_series_measure_the_same_prompts() -> None:
    prompts = defaultdict(set)
    for profile in map(load_profile, known_profiles()):
        for cell in profile.cells():
            prompts[profile.baseline_series, cell.id].add((profile.seed, cell.workload))
    assert [key for key, found in prompts.items() if len(found) > 1] == []
