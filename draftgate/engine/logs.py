"""Reading a child's log: its tail, and the line that says why vLLM did not start."""

from __future__ import annotations

import re
from pathlib import Path

TAIL_LINES = 20
ALL_LINES = 1 << 20
_TAIL_BYTES = 1 << 18
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


def tail(path: Path, lines: int = TAIL_LINES) -> str:
    """Last ``lines`` lines of a log; empty where there is none."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, path.stat().st_size - _TAIL_BYTES))
            text = log.read().decode(errors="replace")
    except OSError:
        return ""
    return "\n".join(text.rstrip().splitlines()[-lines:])


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
