"""A broken rule, before it is known which file it stands in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from draftgate.profile.errors import ProfileError
from draftgate.profile.hints import shown
from draftgate.profile.schema_errors import Location, key_path

_NOTHING = object()


@dataclass(frozen=True)
class Problem:
    """What a rule found; ``location`` leads through the profile's tables, by key and index."""

    location: Location
    text: str
    found: Any = _NOTHING
    allowed: Sequence[str] | str = ""
    remedy: str = ""

    def error(self, data: Mapping[str, Any], source: str) -> ProfileError:
        """The problem as told to the user."""
        return ProfileError(
            source,
            key_path(data, self.location),
            self.text,
            found="" if self.found is _NOTHING else shown(self.found),
            allowed=self.allowed,
            remedy=self.remedy,
        )
