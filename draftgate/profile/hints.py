"""How a message shows values and guesses what was meant."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable


def closest(word: object, known: Iterable[str]) -> str | None:
    """The known word that looks most like ``word``, None where nothing does."""
    matches = difflib.get_close_matches(str(word), list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


def shown(value: object, limit: int = 80) -> str:
    """A value as TOML spells it (near enough), cut to ``limit`` characters."""
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def did_you_mean(word: object, known: Iterable[str], otherwise: str) -> str:
    """A remedy: the close match, or ``otherwise``."""
    guess = closest(word, known)
    return f"did you mean {guess!r}?" if guess else otherwise
