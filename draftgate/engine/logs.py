"""Reading a child's log: its tail, and the line that says why vLLM did not start."""

from __future__ import annotations

import re
from pathlib import Path

TAIL_LINES = 20
_READ_BYTES = 1 << 18
_PREFIX = re.compile(r"^(\([\w-]+ pid=\d+\) )?((ERROR|CRITICAL) [\d-]+ [\d:]+ \[[^\]]+\] ?)?")
_RAISED = re.compile(r"^[A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt)\b(: .+)?$")
_PYDANTIC = re.compile(
    r"^\d+ validation errors? for \w+\s+(?:[\w.]+\s{3,})?(?P<reason>.+?)\s*\[type=", re.S
)
_CONSEQUENCES = (
    "Engine core initialization failed",
    "WorkerProc initialization failed",
    "EngineDeadError",
)


class ChildLog:
    """The part of a log file that one child writes; earlier starts' lines stay before it."""

    def __init__(self, path: Path) -> None:
        """Begin at the file's present end, creating its folder. Raises OSError."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._start = path.stat().st_size if path.exists() else 0

    def text(self) -> str:
        """What the child wrote, or the last of it; empty where the file is gone."""
        try:
            with self.path.open("rb") as log:
                log.seek(max(self._start, self.path.stat().st_size - _READ_BYTES))
                return log.read().decode(errors="replace")
        except OSError:
            return ""

    def tail(self) -> str:
        """The last `TAIL_LINES` lines."""
        return "\n".join(self.text().rstrip().splitlines()[-TAIL_LINES:])


def describe(error: BaseException) -> str:
    """One line for an exception; pydantic's validation errors are reduced to their reason."""
    text = str(error)
    found = _PYDANTIC.match(text)
    if found:
        text = found["reason"].removeprefix("Value error, ")
    return f"{type(error).__name__}: {' '.join(text.split())}"


def is_consequence(reason: str) -> bool:
    """Whether vLLM only says here that the cause stands elsewhere, in the log."""
    return any(phrase in reason for phrase in _CONSEQUENCES)


def root_cause(log_text: str) -> str | None:
    """The exception line that started a failure.

    vLLM logs the cause in the process that met it and then raises "Engine core initialization
    failed. See root cause above" where the user looks; this is the last line that names an
    exception and is not such a consequence, with the message's further lines up to a blank one.
    """
    lines = [_PREFIX.sub("", line).rstrip() for line in log_text.splitlines()]
    for index in range(len(lines) - 1, -1, -1):
        if _RAISED.match(lines[index]) and not is_consequence(lines[index]):
            return _with_details(lines, index)
    return None


def _with_details(lines: list[str], index: int) -> str:
    # pydantic writes "1 validation error for ModelConfig" first and the reason on the next line.
    details = []
    for line in lines[index + 1 : index + 3]:
        if not line.startswith("  ") or line.lstrip().startswith("For further information"):
            break
        details.append(line.strip())
    return " ".join([lines[index], *details])
