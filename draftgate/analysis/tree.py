"""Draft trees: their shapes, and what verification accepts of them.

A tree is a set of nodes, each the path of ranks that leads to it: ``(0,)`` is the likeliest first
token, ``(0, 1)`` the second likeliest after it (the format of Medusa and of vLLM's former
`speculative_token_tree`). Verification emits the longest path that the target agrees with, and one.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from typing import NamedTuple

import numpy as np

from draftgate.analysis.draft_ranks import DraftRanks
from draftgate.analysis.errors import PolicyError
from draftgate.analysis.traces import BoolArray, IntArray

NodePath = tuple[int, ...]

SPELLINGS = "chain:K, full:WIDTHxWIDTH... or best:NODES"
_MOST_NODES = 4096


@dataclass(frozen=True)
class Tree:
    """``paths``: every node but the root, parents before children."""

    name: str
    paths: tuple[NodePath, ...]

    @property
    def nodes(self) -> int:
        """Draft tokens that a verification checks."""
        return len(self.paths)

    @property
    def depth(self) -> int:
        """Draft steps: passes of the head, and most tokens accepted."""
        return max(map(len, self.paths))


def chain(k: int) -> Tree:
    """The ``k`` likeliest tokens in a row."""
    return Tree(f"chain:{k}", tuple((0,) * depth for depth in range(1, k + 1)))


def full(widths: Sequence[int]) -> Tree:
    """Every node of level d has ``widths[d]`` children."""
    levels = (product(*map(range, widths[: depth + 1])) for depth in range(len(widths)))
    return Tree("full:" + "x".join(map(str, widths)), tuple(path for lv in levels for path in lv))


def best(ranks: DraftRanks, nodes: int) -> Tree:
    """The tree of ``nodes`` nodes (fewer where the record shows no more) that accepts most.

    A node is worth the positions whose output takes its path, and never more than its parent, so
    taking the most valuable one next is optimal. It is chosen on the positions it is then judged
    on: a bound for trees of fixed shape.
    """
    positions = np.concatenate([request.ranks[1:] for request in ranks.requests])
    everywhere = np.ones(len(positions), dtype=bool)
    waiting = list(_children((), everywhere, positions, ranks.top))
    heapq.heapify(waiting)
    chosen: list[NodePath] = []
    while waiting and len(chosen) < nodes:
        node = heapq.heappop(waiting)
        chosen.append(node.path)
        for child in _children(node.path, node.reached, positions, ranks.top):
            heapq.heappush(waiting, child)
    if not chosen:
        raise PolicyError(f"{ranks.name}: no position has a hit of head {ranks.head!r}; no tree")
    return Tree(f"best:{nodes}", tuple(chosen))


def parse_tree(text: str, ranks: DraftRanks) -> Tree:
    """The tree that ``text`` spells, no deeper or wider than the recording.

    Raises PolicyError with the spellings.
    """
    kind, _, rest = text.partition(":")
    numbers = _numbers(rest)
    if kind not in ("chain", "full", "best") or not numbers or (kind != "full" and numbers[1:]):
        raise PolicyError(f"unknown tree {text[:40]!r}; write {SPELLINGS}")
    nodes = sum(accumulate(numbers, lambda a, b: a * b)) if kind == "full" else numbers[0]
    if nodes > _MOST_NODES:
        raise PolicyError(f"tree {text[:40]!r} has more than {_MOST_NODES} nodes")
    if kind == "best":
        return best(ranks, numbers[0])
    tree = chain(numbers[0]) if kind == "chain" else full(numbers)
    width = max(path[-1] for path in tree.paths) + 1
    if tree.depth > ranks.depth or width > ranks.top:
        raise PolicyError(
            f"tree {text[:40]!r} is {tree.depth} deep and {width} wide; {ranks.name} recorded "
            f"{ranks.depth} steps and {ranks.top} ranks"
        )
    return tree


def emitted(tree: Tree, ranks: IntArray) -> IntArray:
    """Tokens a step emits at each position, bonus included; ``ranks`` (L, depth) -> (L)."""
    children = _table(tree, int(ranks.max(initial=0)) + 1)
    node = np.zeros(len(ranks), dtype=np.int64)
    accepted = np.zeros(len(ranks), dtype=np.int64)
    for rank in ranks.T[: tree.depth]:
        node = np.where(rank >= 0, children[node, rank], -1)
        accepted += node >= 0
    return accepted + 1


class _Node(NamedTuple):
    """A candidate; sorts by falling number of positions that take its path."""

    minus_count: int
    path: NodePath
    reached: BoolArray


def _children(path: NodePath, reached: BoolArray, positions: IntArray, top: int) -> Iterator[_Node]:
    if len(path) == positions.shape[1]:
        return
    for rank in range(top):
        taken = reached & (positions[:, len(path)] == rank)
        if count := int(taken.sum()):
            yield _Node(-count, (*path, rank), taken)


def _table(tree: Tree, width: int) -> IntArray:
    """``[node, rank]`` -> child, -1 where there is none; the last row is "left the tree"."""
    index = {(): 0} | {path: i for i, path in enumerate(tree.paths, start=1)}
    table = np.full((len(index) + 1, width), -1, dtype=np.int64)
    for path, child in index.items():
        if path and path[-1] < width:
            table[index[path[:-1]], path[-1]] = child
    return table


def _numbers(text: str) -> tuple[int, ...]:
    words = text.split("x")
    good = all(word.isascii() and word.isdecimal() and len(word) < 5 for word in words)
    return tuple(map(int, words)) if good and "0" not in words else ()
