"""How old timed baselines are: they say little about the machine of another season.

Exact ones do not age: every run compares them with `==`.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from pathlib import Path
from typing import NamedTuple

from draftgate.baseline.errors import BaselineError
from draftgate.baseline.files import read
from draftgate.baseline.place import Kind, Place, places

OLD_DAYS = 90


class Aged(NamedTuple):
    """A file and the date of its last update; sorts by date, the oldest first."""

    written: str
    place: Place


def age_days(written: str, today: date) -> int | None:
    """Days since the ISO date of a provenance; None where it is no date."""
    try:
        return (today - date.fromisoformat(written)).days
    except ValueError:
        return None


def old_places(root: Path, keys: Collection[str], today: date, days: int = OLD_DAYS) -> list[Aged]:
    """Timed baselines' files of these fingerprints that are older than ``days``.

    A file that cannot be read is left to those who need it.
    """
    found = []
    for place in places(root):
        if place.kind is not Kind.TIMED or place.key not in keys:
            continue
        try:
            file = read(place)
        except BaselineError:
            continue
        if file and (age_days(file.provenance.date, today) or 0) > days:
            found.append(Aged(file.provenance.date, place))
    return sorted(found)
