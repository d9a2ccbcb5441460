"""Rounds as JSON, each told apart from the one before it.

Greedy rounds repeat the same tokens, so a request's token fields are left out where they equal
those of the same request in the previous round; reading puts them back. Nothing is lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from draftgate.engine.records import RoundRecord

REPEATED_FIELDS = ("prompt_token_ids", "output_token_ids", "emitted", "drafted", "accepted")


def pack(rounds: Sequence[RoundRecord]) -> list[dict[str, Any]]:
    """JSON-ready rounds; an absent token field of a request means "as in the previous round"."""
    whole = [record.model_dump(mode="json") for record in rounds]
    return [whole[0], *map(_without_repeats, whole, whole[1:])] if whole else []


def unpack(packed: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Inverse of `pack`, still plain JSON; raises KeyError or TypeError on something else."""
    whole: list[dict[str, Any]] = []
    for record in packed:
        before = whole[-1]["requests"] if whole else []
        requests = [
            {**_repeatable(before[i] if i < len(before) else {}), **request}
            for i, request in enumerate(record["requests"])
        ]
        whole.append({**record, "requests": requests})
    return whole


def _without_repeats(before: Mapping[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    references = before["requests"]
    requests = [
        {name: value for name, value in request.items() if not _repeats(references, i, name, value)}
        for i, request in enumerate(record["requests"])
    ]
    return {**record, "requests": requests}


def _repeats(references: Sequence[Mapping[str, Any]], i: int, name: str, value: Any) -> bool:
    return name in REPEATED_FIELDS and i < len(references) and references[i][name] == value


def _repeatable(request: Mapping[str, Any]) -> dict[str, Any]:
    return {name: request[name] for name in REPEATED_FIELDS if name in request}
