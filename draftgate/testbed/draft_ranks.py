"""What the family's EAGLE heads rank the recorded tokens at: the source of tree simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from draftgate.testbed import family
from draftgate.testbed.heads import Eagle3Head, EagleHead, Head, unroll
from draftgate.testbed.network import CausalLM
from draftgate.testbed.quality import load_target
from draftgate.testbed.shapes import AUX_LAYERS, DRAFT_VOCAB_SIZE, HEAD, VOCAB_SIZE

HEADS = ("eagle", "eagle3")
_BLOCKS = ("layers.0.", "midlayer.")


@dataclass(frozen=True, eq=False)
class Ranker:
    """A target with one of its heads. ``vocabulary``: target ids of the head's own, ascending."""

    target: CausalLM
    head: Head
    vocabulary: Tensor

    @torch.no_grad()
    def ranks(
        self, prompt: Sequence[int], output: Sequence[int], depth: int, top: int
    ) -> list[list[int]]:
        """``[output tokens][depth]`` as `draftgate.analysis.draft_ranks` describes them.

        Teacher-forced: row j, step d sees the recorded tokens, as a chain or a tree does along the
        path that is accepted. Row 0 is -1.
        """
        ids = torch.tensor([[*prompt, *output]])
        final, streams = self.target.model(ids, AUX_LAYERS)
        after = torch.cat((ids[:, 1:], torch.zeros(1, depth, dtype=torch.long)), dim=1)
        embeddings = self.target.model.embed_tokens(after)
        states = unroll(self.head, self.head.first(final, streams), embeddings, depth)
        by_step = [
            self._ranks(state, ids, len(prompt), step, top) for step, state in enumerate(states)
        ]
        return [[-1] * depth, *map(list, zip(*by_step, strict=True))]

    def _ranks(self, state: Tensor, ids: Tensor, prompt: int, step: int, top: int) -> list[int]:
        """Of output tokens ``1 + step ..``: the state of token t predicts token t + 2 + step."""
        rows = slice(prompt - 1, ids.shape[1] - 2)
        logits = self.head.logits(state[0, rows], self.target.lm_head)
        wanted = ids[0, prompt + 1 + step :]
        column = torch.searchsorted(self.vocabulary, wanted).clamp(max=len(self.vocabulary) - 1)
        own = logits[: len(wanted)].gather(1, column[:, None])
        better = (logits[: len(wanted)] > own).sum(1)
        hit = (self.vocabulary[column] == wanted) & (better < top)
        found: list[int] = torch.where(hit, better, -1).tolist()
        return found + [-1] * (len(logits) - len(wanted))


def load_ranker(head: str) -> Ranker:
    """The family's target with its head ``eagle`` or ``eagle3``.

    Raises:
        TestbedError: another head, or no such model.
    """
    from safetensors.torch import load_file

    if head not in HEADS:
        raise family.TestbedError(
            f"the testbed records ranks of {', '.join(HEADS)}, not of {head!r}"
        )
    target = load_target(Path(family.resolve("testbed:llama-tiny")))
    weights = load_file(Path(family.resolve(f"testbed:llama-tiny-{head}")) / "model.safetensors")
    offsets = weights.pop("d2t", torch.zeros(VOCAB_SIZE, dtype=torch.long))
    module = EagleHead(HEAD) if head == "eagle" else Eagle3Head(HEAD, DRAFT_VOCAB_SIZE)
    module.load_state_dict({_bare(name): tensor.float() for name, tensor in weights.items()})
    return Ranker(target, module.eval(), torch.arange(len(offsets)) + offsets)


def _bare(name: str) -> str:
    for block in _BLOCKS:
        name = name.removeprefix(block)
    return name
