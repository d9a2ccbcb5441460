"""Against published sizes, and against the tensors of the testbed's own checkpoints."""

from __future__ import annotations

import json
import math
import struct

import pytest

from draftgate.analysis.memory import (
    MemoryModelError,
    footprint,
    head_parameters,
    kv_bytes_per_token,
    parameters,
)
from draftgate.testbed import family

KIB = 1024
MODELS = family.root()

LLAMA3_70B = {
    "model_type": "llama",
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}
LLAMA32_1B = {
    "model_type": "llama",
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "vocab_size": 128256,
    "tie_word_embeddings": True,
}
QWEN3_8B = {
    "model_type": "qwen3",
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151936,
    "tie_word_embeddings": False,
}
QWEN3_06B = {
    "model_type": "qwen3",
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151936,
    "tie_word_embeddings": True,
}


@pytest.mark.parametrize(
    ("target", "draft", "alone", "together"),
    [(LLAMA3_70B, LLAMA32_1B, 320, 352), (QWEN3_8B, QWEN3_06B, 144, 256)],
)
def test_a_draft_model_s_cache_comes_on_top(target, draft, alone, together):
    assert footprint(target, "none", None, "bfloat16").kv_bytes_per_token == alone * KIB
    found = footprint(target, "draft_model", draft, "bfloat16")
    assert found.kv_bytes_per_token == together * KIB
    assert found.weights_draft == 2 * parameters(draft)


@pytest.mark.parametrize(
    ("config", "published"),
    [
        (LLAMA3_70B, 70_553_706_496),
        (LLAMA32_1B, 1_235_814_400),
        (QWEN3_8B, 8_190_735_360),
        (QWEN3_06B, 596_049_920),
    ],
)
def test_parameters_are_those_published(config, published):
    assert parameters(config) == published


def test_heads_are_shared_out_over_devices_and_the_last_one_is_kept():
    four = kv_bytes_per_token(LLAMA3_70B, "bfloat16", tensor_parallel_size=4)
    assert four == 80 * KIB
    sixteen = kv_bytes_per_token(LLAMA3_70B, "bfloat16", tensor_parallel_size=16)
    assert sixteen == 40 * KIB  # 8 heads on 16 devices: one each


def test_the_cache_may_have_a_dtype_of_its_own():
    found = footprint(LLAMA3_70B, "ngram", None, "bfloat16", kv_dtype="fp8")
    assert found.kv_bytes_per_token == 160 * KIB
    assert (found.kv_draft, found.weights_draft) == (0, 0)


def test_a_multi_modal_config_is_read_at_its_decoder():
    assert kv_bytes_per_token({"text_config": QWEN3_8B}, "bfloat16") == 144 * KIB


def stored(name: str) -> tuple[dict, int]:
    """Config and number of weights of a checkpoint; index tables (d2t) are no weights."""
    folder = MODELS / name
    with (folder / "model.safetensors").open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    shapes = [v["shape"] for k, v in header.items() if k not in ("__metadata__", "d2t")]
    config = json.loads((folder / "config.json").read_text())
    return config, sum(map(math.prod, shapes))


@pytest.mark.parametrize("name", ["llama-tiny", "llama-tiny-draft"])
def test_the_testbed_s_models_have_the_parameters_of_their_files(name):
    config, weights = stored(name)
    assert parameters(config) == weights


@pytest.mark.parametrize("method", ["eagle", "eagle3"])
def test_the_testbed_s_heads_have_the_parameters_of_their_files(method):
    config, weights = stored(f"llama-tiny-{method}")
    assert head_parameters(config, method) == weights


def test_an_mtp_layer_adds_its_cache_and_weights():
    config, target_weights = stored("llama-tiny")
    _, mtp_weights = stored("glm-tiny-mtp")
    dense = {**config, "num_nextn_predict_layers": 1}
    found = footprint(dense, "mtp", None, "float32")
    assert found.weights_draft == 4 * mtp_weights
    assert found.weights_target == 4 * target_weights
    assert found.kv_draft * config["num_hidden_layers"] == found.kv_target


@pytest.mark.parametrize(
    ("config", "dtype", "said"),
    [
        ({**QWEN3_8B, "kv_lora_rank": 512}, "bfloat16", "multi-head latent attention"),
        ({**QWEN3_8B, "layer_types": ["linear_attention"]}, "bfloat16", "linear_attention"),
        ({}, "bfloat16", "key num_hidden_layers is missing"),
        ({**QWEN3_8B, "num_hidden_layers": "36"}, "bfloat16", "num_hidden_layers is '36'"),
        ({**QWEN3_8B, "num_hidden_layers": 0}, "bfloat16", "num_hidden_layers is 0"),
        (QWEN3_8B, "int3", "dtype 'int3' is unknown; known are"),
    ],
)
def test_what_is_not_known_is_named(config, dtype, said):
    with pytest.raises(MemoryModelError, match=said):
        kv_bytes_per_token(config, dtype)


def test_a_draft_model_without_its_config_is_named():
    with pytest.raises(MemoryModelError, match="'eagle3' needs the config"):
        footprint(QWEN3_8B, "eagle3", None, "bfloat16")
    with pytest.raises(MemoryModelError, match="num_nextn_predict_layers is missing"):
        footprint(QWEN3_8B, "mtp", None, "bfloat16")
