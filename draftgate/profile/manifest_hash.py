"""One hash for all that a profile decides, so that a report can say which profile it belongs to."""

from __future__ import annotations

import hashlib
import json

from draftgate.profile.model import Profile

DIGITS = 16


def manifest_hash(profile: Profile) -> str:
    """First 16 hex digits of SHA-256 over everything but the description.

    Limits and plan are part of it: a run under other limits answers another question.
    """
    data = profile.model_dump(mode="json", exclude={"description"}, exclude_defaults=True)
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
