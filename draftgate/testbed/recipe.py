"""`make testbed`: rebuild the whole family."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import torch
from rich.console import Console

from draftgate.testbed import family, stages
from draftgate.testbed.export import export_family
from draftgate.testbed.progress import TrainingProgress


def main() -> None:
    """Command line of the recipe."""
    parser = argparse.ArgumentParser(
        prog="python -m draftgate.testbed.recipe", description=main.__doc__
    )
    parser.add_argument("--work", type=Path, default=Path(".testbed-build"))
    parser.add_argument("--target-tokens", type=int, default=13_300_000)
    parser.add_argument("--draft-tokens", type=int, default=2_300_000)
    parser.add_argument("--out", type=Path, default=family.root())
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(os.cpu_count() or 1)
    console = Console(stderr=True)
    with TrainingProgress(console) as reporter:
        shop = stages.Workshop(
            arguments.work, arguments.target_tokens, arguments.draft_tokens, reporter
        )
        stages.train_tokenizer(shop)
        target = stages.train_target(shop)
        drafts, vocabulary = stages.train_drafts(shop, target, stages.train_draft_model(shop))
    export_family(target, drafts, vocabulary, shop.tokenizer_folder, arguments.out)
    console.print(f"wrote the family to {arguments.out}; check it with: make testbed-check")


if __name__ == "__main__":
    main()
