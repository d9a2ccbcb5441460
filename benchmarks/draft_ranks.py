"""Record what rank a testbed head gives to the tokens of measured cells, for `draftgate tree`.

    python benchmarks/draft_ranks.py results/latest/cells/llama-tiny-eagle3-k3-gsm8k-bs16.json \\
        --head eagle3 --output ranks.jsonl

Cells must keep their prompts (schema 2). Prints, for a cell of that head itself, the acceptance
that the recording gives to its chain, beside the measured one.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from draftgate.analysis.draft_ranks import DraftRanks, RankedRequest, lines_of
from draftgate.analysis.tree import chain
from draftgate.analysis.tree_cost import tokens_per_step
from draftgate.measure.record import Measurement
from draftgate.testbed.draft_ranks import HEADS, Ranker, load_ranker


def recorded(cell: Measurement, ranker: Ranker, head: str, depth: int, top: int) -> DraftRanks:
    subject = cell.draftgate.subject
    requests = [r for r in cell.draftgate.rounds[0].requests if r.prompt_token_ids]
    if not requests:
        raise SystemExit(f"{subject.cell} keeps no prompt tokens; measure it again")
    return DraftRanks(
        subject.cell,
        head,
        top,
        tuple(
            RankedRequest(
                r.prompt_id,
                r.prompt_tokens,
                np.array(ranker.ranks(r.prompt_token_ids, r.output_token_ids, depth, top)),
            )
            for r in requests
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cells", nargs="+", type=Path)
    parser.add_argument("--head", choices=HEADS, default="eagle3")
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--top", type=int, default=8)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    ranker = load_ranker(options.head)
    with options.output.open("w") as file:
        for path in options.cells:
            cell = Measurement.read(path)
            ranks = recorded(cell, ranker, options.head, options.depth, options.top)
            file.writelines(lines_of(ranks))
            report(cell, ranks)


def report(cell: Measurement, ranks: DraftRanks) -> None:
    block = cell.draftgate
    line = f"{block.subject.cell}: {len(ranks.requests)} requests"
    if block.subject.scenario.endswith(f"/{ranks.head}-k{block.subject.k}"):
        simulated = tokens_per_step(ranks, chain(block.subject.k))
        measured = block.acceptance.tokens_per_step
        line += f", chain of {block.subject.k}: {simulated:.3f} tokens a step simulated"
        line += f", {measured:.3f} measured ({simulated / measured - 1:+.1%})"
    print(line, file=sys.stderr)


if __name__ == "__main__":
    main()
