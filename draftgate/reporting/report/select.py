"""Which cells of a run a panel is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from draftgate.measure.record import Block, Measurement


def blocks(measurements: Iterable[Measurement]) -> tuple[Block, ...]:
    """Blocks in the order of target, workload, batch size; variants in the order measured."""
    found = [measured.draftgate for measured in measurements]
    return tuple(sorted(found, key=lambda b: (target(b), b.subject.workload, b.subject.batch_size)))


def target(block: Block) -> str:
    """Such as ``llama-tiny``."""
    return block.subject.target


def variant(block: Block) -> str:
    """Such as ``eagle3-k3``."""
    return block.subject.variant


def method(block: Block) -> str:
    """The variant without its k: ``eagle3``."""
    return block.subject.proposer or variant(block)


def place(block: Block) -> str:
    """Target and workload, a plot's heading: ``llama-tiny · gsm8k``."""
    return f"{target(block)} · {block.subject.workload}"


def drafting(found: Iterable[Block]) -> tuple[Block, ...]:
    """One cell a scenario and workload of those that draft: the one with most requests.

    Acceptance does not depend on the batch size where outputs do not.
    """
    best: dict[tuple[str, str], Block] = {}
    for block in found:
        key = (block.subject.scenario, block.subject.workload)
        if block.subject.k and (key not in best or _requests(best[key]) < _requests(block)):
            best[key] = block
    return tuple(best.values())


def best(found: Iterable[Block]) -> Block | None:
    """The cell with most tokens per step, the first of equal ones; None of none."""
    return max(found, key=lambda block: block.acceptance.tokens_per_step or 0.0, default=None)


def by_place(found: Iterable[Block]) -> Iterator[tuple[str, tuple[Block, ...]]]:
    """Blocks of the same target and workload."""
    ordered = sorted(found, key=place)
    for name, group in groupby(ordered, place):
        yield name, tuple(group)


def _requests(block: Block) -> int:
    return len(block.rounds[0].requests)
