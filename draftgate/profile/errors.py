"""The profile room's one exception."""

from __future__ import annotations

from collections.abc import Sequence


class ProfileError(Exception):
    """A profile that cannot be used.

    The message is complete by itself: file, key path, what was found, what is allowed, remedy.
    """

    def __init__(
        self,
        source: str,
        key: str,
        problem: str,
        *,
        found: str = "",
        allowed: Sequence[str] | str = "",
        remedy: str = "",
    ) -> None:
        self.source = source
        self.key = key
        self.problem = problem
        self.found = found
        self.allowed = allowed if isinstance(allowed, str) else ", ".join(allowed)
        self.remedy = remedy
        super().__init__(self._text())

    def _text(self) -> str:
        where = f"{self.source}: {self.key}" if self.key else self.source
        details = (("found", self.found), ("allowed", self.allowed), ("remedy", self.remedy))
        lines = [f"{where}: {self.problem}"]
        lines += [f"  {label + ':':<8} {text}" for label, text in details if text]
        return "\n".join(lines)
