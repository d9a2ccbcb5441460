"""Text from files that anyone may have written, made fit to print: prompt ids, causes, notes."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

LONGEST = 300
LONGEST_LABEL = 60

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?", re.DOTALL)


def clean(value: Any, longest: int = LONGEST) -> str:
    """One line of at most ``longest`` characters, without terminal escapes or control characters.

    Format characters (category Cf), which turn text around or hide it, go too. Markup stays:
    escaping is the printer's, which knows its language.
    """
    text = str(value)[: 4 * longest]  # a line of 10 MB is not searched as a whole
    plain = _ESCAPES.sub("", text)
    plain = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in plain)
    plain = "".join(c for c in plain if unicodedata.category(c) not in ("Cf", "Cs"))
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"


def number(value: Any) -> str:
    """A table cell: 4 significant digits of a float, whole numbers as they are, text cleaned."""
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return clean(value)
    if isinstance(value, int) or abs(value) >= 1e4:
        return f"{value:.0f}"
    return f"{value:.4g}"
