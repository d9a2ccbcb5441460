"""The one error this room shows its users, and the two its inner parts raise."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

Stage = Literal["start-up", "round", "shutdown"]


class SpecError(ValueError):
    """An engine specification that cannot work; the message names key, value and remedy."""


class RoundRefused(ValueError):
    """A round that was not begun (a prompt too long, ...); the engine stays usable."""


class EngineError(Exception):
    """An engine failed, or refused a round.

    ``str(error)`` begins with one complete line (engine, stage, reason, remedy); the tail of the
    child's log follows where there is one. ``fatal`` is False where the engine is still usable.
    """

    def __init__(
        self,
        label: str,
        stage: Stage,
        reason: str,
        *,
        fatal: bool = True,
        log_path: Path | None = None,
        log_tail: str = "",
    ) -> None:
        self.label = label
        self.stage = stage
        self.reason = reason
        self.fatal = fatal
        self.log_path = log_path
        self.log_tail = log_tail
        super().__init__(self._render())

    @property
    def summary(self) -> str:
        """The first line: engine, stage and reason."""
        return f"engine {self.label}: {self.stage}: {self.reason}"

    def _render(self) -> str:
        lines = [self.summary]
        if self.log_path is not None:
            lines.append(f"log: {self.log_path}")
        if self.log_tail:
            lines += ["last lines of the log:", self.log_tail]
        return "\n".join(lines)
