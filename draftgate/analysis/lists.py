"""Lists as one writes them on a command line: ``1,8,16``."""

from __future__ import annotations

from draftgate.analysis.errors import AnalysisError

_MOST_DIGITS = 6


def words(what: str, text: str) -> tuple[str, ...]:
    """The words between the commas; raises AnalysisError, naming ``what``, where one is empty."""
    found = tuple(word.strip() for word in text.split(","))
    if not all(found):
        raise AnalysisError(f"{what} {text!r}: an item is empty; write them as A,B")
    return found


def counts(what: str, text: str) -> tuple[int, ...]:
    """Whole numbers of at least 1; raises AnalysisError, naming ``what``, on anything else."""
    found = words(what, text)
    for word in found:
        good = word.isascii() and word.isdecimal() and len(word) <= _MOST_DIGITS and int(word) > 0
        if not good:
            raise AnalysisError(
                f"{what} {text!r}: {word[:20]!r} is not a whole number from 1 to "
                f"{10**_MOST_DIGITS - 1}; write them as 1,8,16"
            )
    return tuple(map(int, found))
