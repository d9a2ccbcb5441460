"""Trained modules to Hugging Face checkpoints that vLLM loads (float16 safetensors)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from draftgate.testbed.shapes import (
    AUX_LAYERS,
    DRAFT,
    DRAFT_VOCAB_SIZE,
    HEAD,
    MAX_POSITIONS,
    TARGET,
    VOCAB_SIZE,
    Shape,
)

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja")
BLOCK_PARTS = (
    "self_attn.",
    "mlp.",
    "post_attention_layernorm.",
    "input_layernorm.",
    "hidden_norm.",
)


def llama_config(shape: Shape, **more: Any) -> dict[str, Any]:
    """config.json of a Llama of ``shape``."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": shape.hidden,
        "intermediate_size": shape.intermediate,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.head_dim,
        "hidden_act": "silu",
        "rms_norm_eps": shape.norm_eps,
        "rope_theta": shape.rope_theta,
        "max_position_embeddings": MAX_POSITIONS,
        "vocab_size": VOCAB_SIZE,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 4,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "mlp_bias": False,
        "torch_dtype": "float16",
        **more,
    }


def eagle3_config() -> dict[str, Any]:
    """config.json of the EAGLE-3 head; the V2 runner reads the layer ids only at top level."""
    layers = list(AUX_LAYERS)
    return llama_config(
        HEAD,
        architectures=["LlamaForCausalLMEagle3"],
        draft_vocab_size=DRAFT_VOCAB_SIZE,
        target_hidden_size=TARGET.hidden,
        eagle_aux_hidden_state_layer_ids=layers,
        eagle_config={"eagle_aux_hidden_state_layer_ids": layers, "use_aux_hidden_state": True},
    )


def write_checkpoint(
    folder: Path, config: dict[str, Any], weights: dict[str, Tensor], tokenizer: Path | None
) -> None:
    """Write one checkpoint folder, with the tokenizer's files where one is given."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    save_file(
        {name: _stored(tensor) for name, tensor in sorted(weights.items())},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )
    for name in TOKENIZER_FILES if tokenizer else ():
        if tokenizer and (tokenizer / name).exists():
            shutil.copyfile(tokenizer / name, folder / name)


def _stored(tensor: Tensor) -> Tensor:
    kept = tensor if tensor.dtype == torch.int64 else tensor.to(torch.float16)
    return kept.detach().contiguous()


def head_weights(head: nn.Module, block: str) -> dict[str, Tensor]:
    """A head's weights, those of its layer under the prefix ``block``."""
    return {
        (block if name.startswith(BLOCK_PARTS) else "") + name: tensor
        for name, tensor in head.state_dict().items()
    }


def mtp_weights(head: nn.Module) -> dict[str, Tensor]:
    """The MTP head in a flat form; `family.py` merges it into the GLM twin."""
    return {
        name.replace("shared_head_norm", "shared_head.norm"): tensor
        for name, tensor in head.state_dict().items()
    }


def export_family(
    target: nn.Module, drafts: nn.ModuleDict, vocabulary: Tensor, tokenizer: Path, out: Path
) -> None:
    """Write the committed form of the whole family below ``out``.

    ``vocabulary [draft vocab]``: target ids of the EAGLE-3 head's own vocabulary, ascending.
    """
    write_checkpoint(out / "llama-tiny", llama_config(TARGET), target.state_dict(), tokenizer)
    write_checkpoint(
        out / "llama-tiny-draft",
        llama_config(DRAFT),
        drafts["draft_model"].state_dict(),
        tokenizer,
    )
    write_checkpoint(
        out / "llama-tiny-eagle",
        llama_config(HEAD),
        head_weights(drafts["eagle"], "layers.0."),
        None,
    )
    offsets = vocabulary - torch.arange(len(vocabulary))
    write_checkpoint(
        out / "llama-tiny-eagle3",
        eagle3_config(),
        head_weights(drafts["eagle3"], "midlayer.") | {"d2t": offsets},
        None,
    )
    write_checkpoint(
        out / "glm-tiny-mtp", {"part_of": "glm-tiny"}, mtp_weights(drafts["mtp"]), None
    )
