"""The GLM-4-MoE twin of the Llama target, assembled instead of stored.

With the dense MLP as shared expert and routed experts that output zero, a `glm4_moe` network
computes exactly what the Llama does, so one training serves both targets and the repository keeps
only the MTP layer. The last layer and the MTP layer are MoE layers (vLLM needs one in each).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from draftgate.testbed.export import llama_config
from draftgate.testbed.shapes import TARGET

ROUTED_EXPERTS = 4
EXPERT_SIZE = 64
# vLLM widens one expert's intermediate size by this number
SHARED_EXPERTS = TARGET.intermediate // EXPERT_SIZE
FIRST_MOE_LAYER = TARGET.layers - 1


def config() -> dict[str, Any]:
    """config.json of the twin."""
    return llama_config(
        TARGET,
        architectures=["Glm4MoeForCausalLM"],
        model_type="glm4_moe",
        first_k_dense_replace=FIRST_MOE_LAYER,
        moe_intermediate_size=EXPERT_SIZE,
        n_routed_experts=ROUTED_EXPERTS,
        n_shared_experts=SHARED_EXPERTS,
        num_experts_per_tok=2,
        n_group=1,
        topk_group=1,
        norm_topk_prob=True,
        routed_scaling_factor=1.0,
        use_qk_norm=False,
        partial_rotary_factor=1.0,
        rope_parameters={
            "rope_type": "default",
            "rope_theta": TARGET.rope_theta,
            "partial_rotary_factor": 1.0,
        },
        num_nextn_predict_layers=1,
    )


def weights(target: dict[str, Tensor], mtp: dict[str, Tensor]) -> dict[str, Tensor]:
    """Checkpoint of the twin from the Llama's and the MTP layer's tensors."""
    merged = {_moe_name(name): tensor for name, tensor in target.items()}
    prefix = f"model.layers.{TARGET.layers}."
    merged |= {prefix + _shared(name): tensor for name, tensor in mtp.items()}
    merged[prefix + "shared_head.head.weight"] = target["lm_head.weight"].clone()
    for layer in (FIRST_MOE_LAYER, TARGET.layers):
        merged |= _router(f"model.layers.{layer}.mlp.")
    return merged


def _moe_name(name: str) -> str:
    return _shared(name) if name.startswith(f"model.layers.{FIRST_MOE_LAYER}.") else name


def _shared(name: str) -> str:
    return name.replace("mlp.", "mlp.shared_experts.")


def _router(prefix: str) -> dict[str, Tensor]:
    """A router and routed experts whose outputs are zero."""
    tensors = {
        "gate.weight": torch.zeros(ROUTED_EXPERTS, TARGET.hidden),
        "gate.e_score_correction_bias": torch.zeros(ROUTED_EXPERTS),
    }
    for expert in range(ROUTED_EXPERTS):
        for part in ("gate_proj", "up_proj"):
            tensors[f"experts.{expert}.{part}.weight"] = torch.zeros(EXPERT_SIZE, TARGET.hidden)
        tensors[f"experts.{expert}.down_proj.weight"] = torch.zeros(TARGET.hidden, EXPERT_SIZE)
    return {prefix + name: tensor for name, tensor in tensors.items()}
