"""What a tree gains: its acceptance priced by a cost model, beside standard decoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from draftgate.analysis.cost import CostModel
from draftgate.analysis.draft_ranks import DraftRanks
from draftgate.analysis.policies import Fixed
from draftgate.analysis.positions import Positions, single
from draftgate.analysis.replicated import replicated_speedups
from draftgate.analysis.tree import Tree, emitted
from draftgate.analysis.walk import Walk, walk_memoryless


def tree_records(
    ranks: DraftRanks, tree: Tree, cost: CostModel, batch_sizes: Sequence[int]
) -> list[dict[str, Any]]:
    """Records ``{trace, head, tree, nodes, depth, batch_size, tokens_per_step, speedup}``.

    Batches are copies of one request, as in the paper. A verification checks all of the tree's
    tokens; the head runs once a level. Raises CostModelError where the model lacks the head.
    """
    positions, walk = _walked(ranks, tree)
    copies = np.array(batch_sizes, dtype=float)
    gains = replicated_speedups(
        positions,
        walk,
        {ranks.head: walk.drafting},
        np.zeros(len(walk.position)),
        _of_levels(cost, ranks.head, tree),
        copies,
    )
    return [
        {
            "trace": ranks.name,
            "head": ranks.head,
            "tree": tree.name,
            "nodes": tree.nodes,
            "depth": tree.depth,
            "batch_size": size,
            "tokens_per_step": round(_tokens_per_step(positions, walk), 4),
            "speedup": round(float(gain), 4),
        }
        for size, gain in zip(batch_sizes, gains, strict=True)
    ]


def tokens_per_step(ranks: DraftRanks, tree: Tree) -> float:
    """Tokens a decode step yields on the path that an engine takes with this tree."""
    return _tokens_per_step(*_walked(ranks, tree))


def _walked(ranks: DraftRanks, tree: Tree) -> tuple[Positions, Walk]:
    gains = [emitted(tree, request.ranks) for request in ranks.requests]
    prompts = [request.prompt_tokens for request in ranks.requests]
    positions = single(gains, prompts, lag=False)
    return positions, walk_memoryless(positions, Fixed(tree.nodes))


def _tokens_per_step(positions: Positions, walk: Walk) -> float:
    steps = len(walk.position)
    return len(positions.gain) / steps if steps else 1.0


def _of_levels(cost: CostModel, head: str, tree: Tree) -> CostModel:
    """The cost model with the head's passes counted by level, not by draft token."""
    draft = cost.draft(head)
    by_level = replace(draft, per_pass_s=draft.per_pass_s * tree.depth / tree.nodes)
    return replace(cost, drafts={**cost.drafts, head: by_level})
