"""The report's exception."""

from __future__ import annotations


class ReportError(Exception):
    """A report that cannot be made or written; names what is missing and the remedy."""
