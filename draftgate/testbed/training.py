"""Training loops: token budget, resumable checkpoints, progress, gates."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from draftgate.testbed.batches import Batch

SAVE_EVERY = 100


def mixed_precision() -> AbstractContextManager[Any]:
    """bfloat16 where the CPU multiplies it in hardware (AMX); elsewhere float32 is faster."""
    amx = torch.cpu._is_amx_tile_supported()
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=amx)


@dataclass
class Run:
    """One stage's training state on disk: ``<folder>/<name>.pt`` and ``<name>.log.jsonl``."""

    folder: Path
    name: str
    budget: int
    step: int = 0
    tokens: int = 0
    started: float = field(default_factory=time.monotonic)

    @property
    def progress(self) -> float:
        """Share of the token budget used, in [0, 1]."""
        return min(1.0, self.tokens / self.budget)

    @property
    def finished(self) -> bool:
        """Whether the budget is used up."""
        return self.tokens >= self.budget

    @property
    def path(self) -> Path:
        """The checkpoint file."""
        return self.folder / f"{self.name}.pt"

    def save(self, state: dict[str, Any]) -> None:
        """Write the checkpoint atomically."""
        partial = self.path.with_suffix(".partial")
        torch.save({"step": self.step, "tokens": self.tokens, "state": state}, partial)
        partial.replace(self.path)

    def load(self) -> dict[str, Any] | None:
        """State of an earlier, interrupted run, if there is one."""
        if not self.path.exists():
            return None
        saved: dict[str, Any] = torch.load(self.path, weights_only=True)
        self.step, self.tokens = saved["step"], saved["tokens"]
        state: dict[str, Any] = saved["state"]
        return state

    def log(self, **values: float | dict[str, float]) -> None:
        """Append one line to the stage's log."""
        line = {"step": self.step, "tokens": self.tokens, **values}
        with (self.folder / f"{self.name}.log.jsonl").open("a") as out:
            out.write(json.dumps(line) + "\n")


def train(
    run: Run,
    source: Callable[[random.Random], Iterator[Batch]],
    learn: Callable[[Batch, float], dict[str, float]],
    snapshot: Callable[[], dict[str, Any]],
    report: Callable[[Run, dict[str, float]], None],
) -> None:
    """Feed batches to ``learn(batch, progress)`` until the budget is used.

    ``source`` is seeded with the step at which it starts, so that a resumed run sees new data
    and yet is the same whenever it is resumed at the same step.
    """
    batches = source(random.Random(f"{run.name}/{run.step}"))
    while not run.finished:
        batch = next(batches)
        values = learn(batch, run.progress)
        run.step += 1
        run.tokens += int((batch.weights > 0).sum())
        report(run, values)
        if run.step % SAVE_EVERY == 0:
            run.save(snapshot())
    run.save(snapshot())
