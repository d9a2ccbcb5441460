"""Progress of a training stage: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from draftgate.testbed.training import Run

Reporter = Callable[[Run, dict[str, float]], None]
LOG_EVERY = 50


class TrainingProgress:
    """Reports every step on a terminal, every ``LOG_EVERY`` steps to the stage's log file."""

    def __init__(self, console: Console) -> None:
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[values]}"),
            console=console,
            refresh_per_second=1,
        )
        self.tasks: dict[str, int] = {}
        self.sums: dict[str, float] = {}
        self.counts: Counter[str] = Counter()
        self.last = time.monotonic()

    def __enter__(self) -> TrainingProgress:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def __call__(self, run: Run, values: dict[str, float]) -> None:
        """Show and log ``values`` of one step of ``run``."""
        self.counts.update(values.keys())
        for key, value in values.items():
            self.sums[key] = self.sums.get(key, 0.0) + value
        self._advance(run, values)
        if run.step % LOG_EVERY == 0 or run.finished:
            self._log(run)

    def _advance(self, run: Run, values: dict[str, float]) -> None:
        if run.name not in self.tasks:
            self.tasks[run.name] = self.bar.add_task(run.name, total=run.budget, values="")
        text = "  ".join(f"{k} {v:.3f}" for k, v in values.items())
        self.bar.update(self.tasks[run.name], completed=run.tokens, values=text)  # type: ignore[arg-type]

    def _log(self, run: Run) -> None:
        means = {k: round(v / self.counts[k], 4) for k, v in self.sums.items()}
        run.log(seconds=round(time.monotonic() - self.last, 1), **means)
        self.sums, self.counts, self.last = {}, Counter(), time.monotonic()
