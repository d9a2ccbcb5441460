"""Each fault is one error that names file, key, what was found, what is allowed and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from draftgate.profile import ProfileError, load_profile, parse_profile

Data = dict[str, Any]
TINY = "targets[tiny]"
NGRAM = f"{TINY}.variants[ngram-k3]"
CONFIG = f"{NGRAM}.speculative_config"


def config(data: Data) -> Data:
    found: Data = data["targets"][0]["variants"][1]["speculative_config"]
    return found


def edit(path: str, value: object) -> Callable[[Data], None]:
    """Set ``a.0.b`` in the data; the value DELETE removes it."""

    def change(data: Data) -> None:
        *steps, last = path.split(".")
        here: Any = data
        for step in steps:
            here = here[int(step)] if step.isdigit() else here[step]
        if value is DELETE:
            del here[last]
        else:
            here[last] = value

    return change


DELETE = object()
VARIANT = "targets.0.variants.1"
SPECULATIVE = f"{VARIANT}.speculative_config"

FAULTS = [
    # change, key, words of the message
    (edit("sede", 1), "sede", ["unknown key", "seed"]),
    (edit("plan", {"round": 1}), "plan.round", ["unknown key", "did you mean 'rounds'"]),
    (edit("temperature", 0.7), "temperature", ["sampled outputs", "draftgate lossless"]),
    (edit("plan", {"reference_starts": 3}), "plan.reference_starts", ["odd", "even number"]),
    (
        edit("plan", {"reference_starts": 4, "reference_pairs": 10}),
        "plan.reference_pairs",
        ["not balanced", "a multiple of 8"],
    ),
    (edit("limits", {"speedups": 0.1}), "limits.speedups", ["did you mean 'speedup'"]),
    (edit("limits", {"speedup": 0}), "limits.speedup", ["found:   0", "greater than 0"]),
    (edit("targets.0.modle", "x"), f"{TINY}.modle", ["did you mean 'model'"]),
    (edit("targets.0.model", DELETE), f"{TINY}.model", ["missing key", "add 'model'"]),
    (edit("name", "Bad Name"), "name", ["Bad Name", "lower-case"]),
    (edit("workloads.0.name", "gsm9k"), "workloads[gsm9k].name", ["unknown workload", "'gsm8k'"]),
    (edit("workloads.0.source", "hubb"), "workloads[gsm8k].source", ["mini, hub, file", "'hub'"]),
    (edit("workloads.0.prompts", True), "workloads[gsm8k].prompts", ["found:   true", "integer"]),
    (edit("workloads.0.prompts", 0), "workloads[gsm8k].prompts", ["found:   0"]),
    (edit("workloads.0.source", "file"), "workloads[gsm8k].path", ["missing key", "parquet"]),
    (edit("workloads.0.path", "x.json"), "workloads[gsm8k].path", ["not used by", "remove path"]),
    (edit("workloads.0.revision", "abc"), "workloads[gsm8k].revision", ["not used by"]),
    (edit("workloads.1.name", "gsm8k"), "workloads[gsm8k].name", ["duplicated workload name"]),
    (edit("matrix.0.batch_sizes", [0]), "matrix[0].batch_sizes[0]", ["found:   0"]),
    (edit("matrix.0.batch_sizes", []), "matrix[0].batch_sizes", ["at least 1"]),
    (edit("matrix.0.batch_sizes", [4, 4]), "matrix[0]", ["duplicated cell", "gsm8k/bs4"]),
    (edit("matrix.0.workloads", ["gsm8k", "gpqa"]), "matrix[0].workloads[1]", ["not declared"]),
    (edit("matrix.0.workloads", ["gsm8k"]), "workloads[aime]", ["never measured"]),
    (edit("matrix.0.targets", ["tinny"]), "matrix[0].targets[0]", ["did you mean 'tiny'"]),
    (edit("matrix.0.batch_sizes", [16]), f"{TINY}.engine_args.max_num_seqs", ["found:   8", "16"]),
    (
        edit("targets.0.engine_args.enforce_eger", True),
        f"{TINY}.engine_args.enforce_eger",
        ["eager"],
    ),
    (edit("targets.0.engine_args.dtype", "x"), f"{TINY}.engine_args.dtype", ["own key dtype"]),
    (
        edit("targets.0.engine_args.seed", 1),
        f"{TINY}.engine_args.seed",
        ["does not belong", "the profile's own key seed"],
    ),
    (edit(f"{VARIANT}.name", "none"), f"{TINY}.variants[none].name", ["duplicated variant name"]),
    (edit("targets.0.variants.0.name", "base"), f"{TINY}.variants", ["no control", "none"]),
    (
        edit(f"{VARIANT}.name", "ngram-k5"),
        f"{TINY}.variants[ngram-k5].name",
        ["disagree", "ngram-k3"],
    ),
    (edit(SPECULATIVE, DELETE), CONFIG, ["missing key"]),
    (edit(f"{VARIANT}.workloads", ["gpqa"]), f"{NGRAM}.workloads[0]", ["not declared"]),
    (edit(f"{VARIANT}.workloads", []), NGRAM, ["never measured"]),
    (
        edit("targets.0.variants.0.workloads", ["aime"]),
        f"{TINY}.variants[none].workloads",
        ["every"],
    ),
    (
        edit(f"{SPECULATIVE}.method", "ngramm"),
        f"{CONFIG}.method",
        ["did you mean 'ngram'", "eagle3"],
    ),
    (edit(f"{SPECULATIVE}.method", "glm4_moe_mtp"), f"{CONFIG}.method", ['"mtp"']),
    (edit(f"{SPECULATIVE}.method", DELETE), f"{CONFIG}.method", ["missing key", "draft_model"]),
    (edit(f"{SPECULATIVE}.method", ["ngram"]), f"{CONFIG}.method", ["unknown method"]),
    (
        edit(f"{SPECULATIVE}.prompt_lokup_max", 7),
        f"{CONFIG}.prompt_lokup_max",
        ["prompt_lookup_max"],
    ),
    (
        edit(f"{SPECULATIVE}.num_speculative_tokens", 0),
        f"{CONFIG}.num_speculative_tokens",
        ["k >= 1"],
    ),
    (
        edit(f"{SPECULATIVE}.num_speculative_tokens", "3"),
        f"{CONFIG}.num_speculative_tokens",
        ['"3"'],
    ),
    (
        edit(f"{SPECULATIVE}.num_speculative_tokens", DELETE),
        f"{CONFIG}.num_speculative_tokens",
        ["add k"],
    ),
    (edit(f"{SPECULATIVE}.prompt_lookup_min", 0), f"{CONFIG}.prompt_lookup_min", ["out of range"]),
    (edit("schema_version", 2), "schema_version", ["newer", "update draftgate"]),
    (edit("schema_version", "1"), "schema_version", ["not a schema version"]),
    (edit("schema_version", DELETE), "schema_version", ["missing key", "schema_version = 1"]),
]


@pytest.mark.parametrize(
    ("change", "key", "words"), FAULTS, ids=[f"{f[1]}-{f[2][0]}" for f in FAULTS]
)
def test_fault_is_one_clear_error(
    small: Data, change: Callable[[Data], None], key: str, words: list[str]
) -> None:
    change(small)
    with pytest.raises(ProfileError) as caught:
        parse_profile(small, "small.toml")
    message = str(caught.value)
    assert message.startswith(f"small.toml: {key}: ")
    assert caught.value.key == key
    assert all(word in message for word in words), message
    assert "remedy:" in message


@pytest.mark.parametrize("method", ["draft_model", "eagle", "eagle3", "medusa", "custom_class"])
@pytest.mark.parametrize("model", [None, "", 3])
def test_draft_without_a_model(small: Data, method: str, model: object) -> None:
    config(small).update(method=method)
    if model is not None:
        config(small)["model"] = model
    with pytest.raises(ProfileError, match=f"method '{method}' needs a model"):
        parse_profile(small, "small.toml")


def test_mtp_may_have_a_model_of_its_own_or_none(small: Data) -> None:
    small["targets"][0]["variants"][1]["name"] = "mtp-k3"
    config(small).update(method="mtp")
    parse_profile(small, "small.toml")
    config(small).update(model="some/mtp-weights")
    parse_profile(small, "small.toml")


def test_lookup_bounds_must_be_ordered_and_belong_to_ngram(small: Data) -> None:
    config(small).update(prompt_lookup_min=7, prompt_lookup_max=3)
    with pytest.raises(ProfileError, match="above prompt_lookup_max"):
        parse_profile(small, "small.toml")
    config(small).update(method="mtp", prompt_lookup_min=3)
    with pytest.raises(ProfileError, match="only n-gram"):
        parse_profile(small, "small.toml")


def test_control_with_a_speculative_config(small: Data) -> None:
    small["targets"][0]["variants"][0]["speculative_config"] = {"method": "ngram"}
    with pytest.raises(ProfileError, match="the control has none"):
        parse_profile(small, "small.toml")


def test_duplicated_target(small: Data) -> None:
    small["targets"].append(small["targets"][0])
    with pytest.raises(ProfileError, match="duplicated target name"):
        parse_profile(small, "small.toml")


def test_two_cells_with_one_pytest_id(small: Data) -> None:
    """tiny/ngram-k3-x and tiny-ngram-k3/... could meet; the profile must not load."""
    spec = {"method": "ngram", "num_speculative_tokens": 3}
    first, second = small["targets"][0], {**small["targets"][0], "name": "tiny-ngram-k3"}
    first["variants"] = [
        {"name": "none"},
        {"name": "ngram-k3", "speculative_config": spec},
        {"name": "ngram-k3-ngram-k3", "speculative_config": spec},
    ]
    second["variants"] = [{"name": "none"}, {"name": "ngram-k3", "speculative_config": spec}]
    small["targets"].append(second)
    with pytest.raises(ProfileError, match="same pytest id"):
        parse_profile(small, "small.toml")


def test_a_vllm_key_newer_than_ours_can_be_declared(small: Data) -> None:
    config(small)["brand_new"] = 1
    small["targets"][0]["engine_args"]["also_new"] = 1
    with pytest.raises(ProfileError, match="newer_vllm_keys"):
        parse_profile(small, "small.toml")
    small["newer_vllm_keys"] = ["brand_new", "also_new"]
    assert parse_profile(small, "small.toml").targets[0].engine_args["also_new"] == 1


def test_several_faults_are_counted(small: Data) -> None:
    small["workloads"][0]["prompts"] = 0
    small["workloads"][1]["prompts"] = 0
    with pytest.raises(ProfileError, match=r"\(and 1 more\)"):
        parse_profile(small, "small.toml")


def test_misspelt_key_is_told_before_the_key_it_hides(small: Data) -> None:
    small["targets"][0]["modle"] = small["targets"][0].pop("model")
    with pytest.raises(ProfileError, match="modle: unknown key") as caught:
        parse_profile(small, "small.toml")
    assert "did you mean 'model'?" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"name = ", "not valid TOML"), (b'name = "\xff"', "not UTF-8"), (b"", "missing key")],
)
def test_unreadable_file(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_bytes(content)
    with pytest.raises(ProfileError, match=words) as caught:
        load_profile(path)
    assert str(caught.value).startswith(str(path))
