"""The simulator's named choices; without numpy, so that the command line can name them."""

from __future__ import annotations

from enum import StrEnum


class Accounting(StrEnum):
    """Who is charged in a combination; a proposer alone always pays its own cost.

    ``published``: n-gram's cost whoever drafts, as in the paper; ``winner``: the cost of the one
    taken; ``both``: both, as a system would that drafts with both to choose.
    """

    PUBLISHED = "published"
    WINNER = "winner"
    BOTH = "both"


class Batches(StrEnum):
    """``replicated``: copies of one request, as published. ``ragged``: continuous batching."""

    REPLICATED = "replicated"
    RAGGED = "ragged"
