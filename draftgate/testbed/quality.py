"""Whether the family is fit to be a testbed: pure measures over its outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import torch

from draftgate.testbed import losses
from draftgate.testbed.batches import Batch
from draftgate.testbed.network import CausalLM
from draftgate.testbed.shapes import TARGET, VOCAB_SIZE

LOOP_LENGTH = 4
LOOP_COUNT = 8


def has_loop(token_ids: Sequence[int]) -> bool:
    """Whether some 4-gram comes more than 8 times."""
    grams = zip(*(token_ids[i:] for i in range(LOOP_LENGTH)), strict=False)
    return any(count > LOOP_COUNT for count in Counter(grams).values())


def share(flags: Sequence[bool]) -> float:
    """Share of true flags, in [0, 1]; raises ZeroDivisionError on none."""
    return sum(flags) / len(flags)


def rankings_differ(values: dict[str, dict[str, float]]) -> bool:
    """Whether two workloads order the variants differently; ``values[workload][variant]``."""
    orders = [sorted(by, key=lambda v: by[v]) for by in values.values()]
    return any(one != other for one, other in pairwise(orders))


def load_target(folder: Path) -> CausalLM:
    """The target's committed weights in the training-side network, float32."""
    from safetensors.torch import load_file

    network = CausalLM(TARGET, VOCAB_SIZE)
    tensors = load_file(folder / "model.safetensors")
    network.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
    return network.eval()


@torch.no_grad()
def copied_accuracy(network: CausalLM, batch: Batch) -> float:
    """Teacher-forced accuracy on answer tokens that also stand in the prompt, in [0, 1]."""
    right, total = losses.copy_accuracy(network, batch)
    return right / total
