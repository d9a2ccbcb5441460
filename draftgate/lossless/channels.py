"""The four ways in which a fault of speculative decoding shows.

- losslessness: the text is not what the target alone would have emitted;
- acceptance: the text is right, but other drafts are accepted than the law says, or other drafts
  are proposed;
- metric: tokens are right, and what is reported about them is not;
- time: all of it is right, and slower.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

Channel: TypeAlias = Literal["losslessness", "acceptance", "metric", "time"]


class AnotherFault(Exception):
    """In a test of a known issue, a fault that is not the known one; ``channel`` says of what kind.

    No AssertionError: those are expected there.
    """

    def __init__(self, message: str, channel: Channel = "losslessness") -> None:
        super().__init__(f"{channel}: another fault than the known one: {message}")
        self.channel = channel


class LawRefuted(AssertionError):
    """Counts do not follow their law; ``channel`` says what that means."""

    def __init__(self, message: str, channel: Channel) -> None:
        super().__init__(f"{channel}: {message}")
        self.channel = channel
