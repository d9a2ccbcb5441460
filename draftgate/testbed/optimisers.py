"""Muon for the matrices inside layers, AdamW for the rest, one warm-up/stable/decay schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

WARMUP = 0.02
DECAY = 0.35


def rate(progress: float) -> float:
    """Learning-rate factor at ``progress`` in [0, 1] of the token budget."""
    if progress < WARMUP:
        return progress / WARMUP
    if progress > 1 - DECAY:
        return max(0.02, (1 - progress) / DECAY)
    return 1.0


@dataclass
class Optimisers:
    """The optimisers of one network, stepped together."""

    parts: list[tuple[torch.optim.Optimizer, float]]
    parameters: list[nn.Parameter]

    def step(self, progress: float) -> None:
        """Clip, step at the schedule's rate, clear the gradients."""
        torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)
        for optimiser, peak in self.parts:
            for group in optimiser.param_groups:
                group["lr"] = peak * rate(progress)
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)

    def state_dict(self) -> list[dict[str, Any]]:
        """States of all parts, for resuming."""
        return [optimiser.state_dict() for optimiser, _ in self.parts]

    def load_state_dict(self, states: list[dict[str, Any]]) -> None:
        """Inverse of ``state_dict``."""
        for (optimiser, _), state in zip(self.parts, states, strict=True):
            optimiser.load_state_dict(state)


def build(network: nn.Module, peak: float) -> Optimisers:
    """Optimisers of ``network`` with peak learning rate ``peak``."""
    matrices: list[nn.Parameter] = []
    others: list[nn.Parameter] = []
    for name, parameter in network.named_parameters():
        inner = parameter.ndim == 2 and "embed" not in name and "lm_head" not in name
        (matrices if inner else others).append(parameter)
    muon = torch.optim.Muon(matrices, lr=peak, weight_decay=0.05, adjust_lr_fn="match_rms_adamw")
    adam = torch.optim.AdamW(others, lr=peak, betas=(0.9, 0.98), weight_decay=0.0)
    return Optimisers([(muon, peak), (adam, peak)], [*matrices, *others])
