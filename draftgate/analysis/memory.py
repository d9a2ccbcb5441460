"""Static memory of a target and its proposer, from their `config.json` alone.

A token of a request takes, in every attention layer, a key and a value of `num_key_value_heads` x
`head_dim` numbers. A proposer with layers of its own keeps its own beside the target's. Weights are
counted for decoders of the Llama kind: dense, or with experts as in GLM-4.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Config = Mapping[str, Any]
"""A model's `config.json`."""

DTYPE_BYTES: Mapping[str, int] = {
    "float32": 4,
    "float": 4,
    "bfloat16": 2,
    "float16": 2,
    "half": 2,
    "fp8": 1,
    "uint8": 1,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
}

HEADS = frozenset({"eagle", "eagle3"})
"""Methods whose checkpoint is a head: it uses the target's embedding."""

WITHOUT_LAYERS = frozenset({"ngram", "ngram_gpu", "suffix", "custom_class"})
"""Methods that hold neither weights nor a cache."""


class MemoryModelError(ValueError):
    """A config whose memory is not known here; names the key, and why."""


@dataclass(frozen=True)
class Footprint:
    """Bytes on one of ``tensor_parallel_size`` devices; ``kv_*`` of one token of one request."""

    kv_target: int
    kv_draft: int
    weights_target: int
    weights_draft: int

    @property
    def kv_bytes_per_token(self) -> int:
        """Target and proposer together: what the engine's cache must hold."""
        return self.kv_target + self.kv_draft


def kv_bytes_per_token(config: Config, dtype: str, *, tensor_parallel_size: int = 1) -> int:
    """Cache bytes of one token in all layers of ``config``, on one device.

    Heads are shared out over the devices; where there are fewer heads than devices, each holds one.

    Raises:
        MemoryModelError: a key is missing, an unknown dtype, or attention that is not of this kind.
    """
    return int(config_layers(config)) * _kv_layer_bytes(config, dtype, tensor_parallel_size)


def footprint(
    target: Config,
    method: str,
    draft: Config | None,
    dtype: str,
    *,
    kv_dtype: str | None = None,
    tensor_parallel_size: int = 1,
) -> Footprint:
    """Memory of a target with a proposer; ``method`` is vLLM's, ``none`` for the control.

    ``draft``: the proposer's config, None where it has no checkpoint of its own. Weights are those
    of all devices, divided by their number: what is held twice (norms) is not worth counting.

    Raises:
        MemoryModelError: as `kv_bytes_per_token`; a method that needs a config and has none.
    """
    cached = kv_dtype or dtype
    kv_target = kv_bytes_per_token(target, cached, tensor_parallel_size=tensor_parallel_size)
    size = _dtype_bytes(dtype)
    kv_draft, draft_parameters = 0, 0
    if method == "mtp":
        layers = _count(target, "num_nextn_predict_layers")
        kv_draft = layers * _kv_layer_bytes(target, cached, tensor_parallel_size)
        draft_parameters = layers * _mtp_layer(target)
    elif method != "none" and method not in WITHOUT_LAYERS:
        if draft is None:
            raise MemoryModelError(f"method {method!r} needs the config of its draft model")
        kv_draft = kv_bytes_per_token(draft, cached, tensor_parallel_size=tensor_parallel_size)
        draft_parameters = head_parameters(draft, method) if method in HEADS else parameters(draft)
    return Footprint(
        kv_target=kv_target,
        kv_draft=kv_draft,
        weights_target=parameters(target) * size // tensor_parallel_size,
        weights_draft=draft_parameters * size // tensor_parallel_size,
    )


def parameters(config: Config) -> int:
    """Parameters of a whole decoder, MTP layers left out.

    Raises:
        MemoryModelError: as `kv_bytes_per_token`.
    """
    config = _decoder(config)
    hidden, layers = _count(config, "hidden_size"), config_layers(config)
    dense = min(layers, config.get("first_k_dense_replace", 0)) if _experts(config) else layers
    tables = 1 if config.get("tie_word_embeddings", False) else 2
    return (
        tables * _count(config, "vocab_size") * hidden
        + layers * (_attention(config) + 2 * hidden)
        + dense * _mlp(config, _count(config, "intermediate_size"))
        + (layers - dense) * _expert_mlp(config)
        + hidden
    )


def head_parameters(config: Config, method: str) -> int:
    """Parameters of an EAGLE or EAGLE-3 head, without the embedding, which is the target's.

    EAGLE joins an embedding and a hidden state and has no norm before attention nor a final one.
    EAGLE-3 joins three hidden states; its layer reads embedding and hidden state side by side,
    norms both, and its output matrix has the reduced vocabulary.
    """
    config = _decoder(config)
    hidden, layers = _count(config, "hidden_size"), config_layers(config)
    mlp = _mlp(config, _count(config, "intermediate_size"))
    if method == "eagle":
        norms = layers + layers - 1  # the first layer has no input norm
        return 2 * hidden * hidden + layers * (_attention(config) + mlp) + norms * hidden
    vocabulary = int(config.get("draft_vocab_size") or _count(config, "vocab_size"))
    joined = 3 * int(config.get("target_hidden_size", hidden)) * hidden
    doubled = _attention(config, inputs=2 * hidden)
    return joined + layers * (doubled + mlp + 3 * hidden) + hidden + vocabulary * hidden


def config_layers(config: Config) -> int:
    """Decoder layers.

    Raises:
        MemoryModelError: layers that keep no plain keys and values.
    """
    config = _decoder(config)
    kinds = set(config.get("layer_types") or ()) - {"full_attention", "sliding_attention"}
    if kinds:
        raise MemoryModelError(
            f"layer_types has {', '.join(sorted(kinds))}: only layers of plain attention are known"
        )
    return _count(config, "num_hidden_layers")


def _kv_layer_bytes(config: Config, dtype: str, devices: int) -> int:
    config = _decoder(config)
    if config.get("kv_lora_rank"):
        raise MemoryModelError(
            "kv_lora_rank: multi-head latent attention caches a compressed state, "
            "which is out of scope here"
        )
    heads = max(1, _kv_heads(config) // devices)
    return 2 * heads * _head_dim(config) * _dtype_bytes(dtype)


def _attention(config: Config, inputs: int | None = None) -> int:
    hidden, dim = _count(config, "hidden_size"), _head_dim(config)
    queries, keys = _count(config, "num_attention_heads") * dim, _kv_heads(config) * dim
    projections = (inputs or hidden) * (queries + 2 * keys) + queries * hidden
    biases = queries + 2 * keys if config.get("attention_bias") else 0
    return projections + biases + (2 * dim if _norms_queries(config) else 0)


def _norms_queries(config: Config) -> bool:
    return bool(config.get("use_qk_norm") or str(config.get("model_type", "")).startswith("qwen3"))


def _mlp(config: Config, intermediate: int) -> int:
    return 3 * _count(config, "hidden_size") * intermediate


def _experts(config: Config) -> int:
    return int(config.get("n_routed_experts") or 0)


def _expert_mlp(config: Config) -> int:
    experts = _experts(config)
    if not experts:
        return 0
    expert = _mlp(config, _count(config, "moe_intermediate_size"))
    gate = experts * _count(config, "hidden_size") + experts  # and its correction bias
    return (experts + int(config.get("n_shared_experts", 0))) * expert + gate


def _mtp_layer(config: Config) -> int:
    """An MTP layer: two norms and their join, a layer of the target's kind, a final norm.

    Embedding and output matrix are the target's.
    """
    hidden = _count(config, "hidden_size")
    mlp = _expert_mlp(config) or _mlp(config, _count(config, "intermediate_size"))
    return 2 * hidden * hidden + 5 * hidden + _attention(config) + mlp


def _kv_heads(config: Config) -> int:
    return int(config.get("num_key_value_heads") or _count(config, "num_attention_heads"))


def _head_dim(config: Config) -> int:
    stated = config.get("head_dim")
    return int(stated or _count(config, "hidden_size") // _count(config, "num_attention_heads"))


def _decoder(config: Config) -> Config:
    """The decoder's part of a multi-modal config; the config itself elsewhere."""
    inner = config.get("text_config")
    return inner if isinstance(inner, Mapping) else config


def _dtype_bytes(dtype: str) -> int:
    name = dtype.removeprefix("torch.")
    if name not in DTYPE_BYTES:
        raise MemoryModelError(f"dtype {dtype!r} is unknown; known are {', '.join(DTYPE_BYTES)}")
    return DTYPE_BYTES[name]


def _count(config: Config, key: str) -> int:
    value = config.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        found = "is missing" if value is None else f"is {value!r}, not a count"
        raise MemoryModelError(f"config.json: key {key} {found}")
    return value
