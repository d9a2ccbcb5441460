"""Which lengths to replay, so that an engine measures the bound of a proposer it once ran.

An oracle knows how much of each draft will be accepted and drafts just that. Its lengths stand in
the records of a real variant; of two variants, the longer one is taken at every position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from draftgate.analysis.measured_trace import entries
from draftgate.engine.drafts import DraftPlan, Recording
from draftgate.engine.records import RequestRecord, RoundRecord

Prompts = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Replay:
    """A script, and what it must come to: ``decode_steps`` of all requests, prefills left out."""

    name: str
    k: int
    plan: DraftPlan
    decode_steps: int


def replays(
    prompts: Prompts, control: RoundRecord, variants: Mapping[str, RoundRecord], k: int
) -> list[Replay]:
    """What to replay on an engine with windows of ``k``: fixed lengths, and oracles.

    ``prompts``: token ids, in the order of ``control``'s requests, which may have several copies of
    each (a ``replicated`` round). ``fixed-kN`` drafts N tokens of
    the recorded output at every step; ``oracle-V`` what variant V would have had accepted;
    ``oracle-V+W`` the better of two. The ks are those of the variants, and ``k``.

    Raises:
        ValueError: requests are no multiple of the prompts, or of another number in a variant.
    """
    copies, rest = divmod(len(control.requests), len(prompts)) if prompts else (0, 1)
    if rest or not copies:
        raise ValueError(f"{len(prompts)} prompts for {len(control.requests)} requests")
    prompts = [prompt for prompt in prompts for _ in range(copies)]
    outputs = [request.output_token_ids for request in control.requests]
    windows = {_longest_draft(record) for record in variants.values()} | {k}
    wanted: dict[str, tuple[int, list[Sequence[int]] | None]] = {
        f"fixed-k{window}": (window, None) for window in sorted(windows) if 0 < window <= k
    }
    for size in (1, 2):
        for names in combinations(variants, size):
            chosen = [variants[name].requests for name in names]
            limits: list[Sequence[int]] = [
                best_acceptance(records) for records in zip(*chosen, strict=True)
            ]
            wanted[f"oracle-{'+'.join(names)}"] = (k, limits)
    return [
        _replay(name, window, prompts, outputs, limits) for name, (window, limits) in wanted.items()
    ]


def best_acceptance(records: Sequence[RequestRecord]) -> tuple[int, ...]:
    """Drafts that the best of these runs of one request had accepted, by output tokens present.

    Between a run's steps its entry is the rest of the step that covers the position: a lower bound.
    Runs of unequal length count as far as they reach.
    """
    found = [entries(record.emitted) - 1 for record in records if record.emitted]
    best = np.zeros(max(map(len, found), default=0), dtype=np.int64)
    for each in found:
        np.maximum(best[: len(each)], each, out=best[: len(each)])
    return tuple(best.tolist())


def decode_steps(limits: Sequence[int] | None, output_tokens: int, k: int) -> int:
    """Steps after the prefill that emit ``output_tokens``, drafting ``limits`` of them, at most k.

    The last token is not drafted: it is the bonus token of the step before. ``limits`` holds from
    its last entry on; None: no limit but k.
    """
    present, steps = 1, 0
    while present < output_tokens:
        limit = k if not limits else min(k, limits[min(present, len(limits) - 1)])
        present += min(limit, output_tokens - present - 1) + 1
        steps += 1
    return steps


def _replay(
    name: str,
    k: int,
    prompts: Prompts,
    outputs: Sequence[Sequence[int]],
    limits: Sequence[Sequence[int]] | None,
) -> Replay:
    each = limits if limits is not None else [None] * len(outputs)
    recordings = tuple(
        Recording(
            prompt=tuple(prompt),
            output=tuple(output),
            accepted=None if limit is None else tuple(limit),
        )
        for prompt, output, limit in zip(prompts, outputs, each, strict=True)
    )
    steps = sum(
        decode_steps(limit, len(output), k) for output, limit in zip(outputs, each, strict=True)
    )
    plan = DraftPlan(rule="oracle", recordings=recordings, length=k)
    return Replay(name, k, plan, steps)


def _longest_draft(record: RoundRecord) -> int:
    return max((drafted for r in record.requests for drafted in r.drafted), default=0)
