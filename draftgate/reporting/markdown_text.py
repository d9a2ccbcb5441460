"""Text of others inside Markdown: it may not mention, link, embed or break a table."""

from __future__ import annotations

from collections.abc import Sequence


def code(text: str, longest: int = 120) -> str:
    """``text`` as a code span, in which nothing is interpreted, on one line."""
    plain = "".join(c if c.isprintable() else " " for c in text).replace("`", "'")
    plain = plain.replace("|", "\\|")  # GitHub splits a table's row even inside a code span
    if len(plain) > longest:
        plain = plain[: longest - 1].rstrip("\\") + "…"
    return f"`{plain or ' '}`"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose cells are Markdown already."""
    lines = ["| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows)]
    return "\n".join(lines)
