"""The documentation names every verdict."""

import re
from pathlib import Path

from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.manifest import (
    ALWAYS,
    DRAFTING,
    STAGED,
    STAGED_DRAFTING,
    TIMED,
    TIMED_DRAFTING,
    WHERE_LIMITED,
    WITHOUT_STORE,
)

DOCS = Path(__file__).parents[2] / "docs" / "verdicts.md"


def test_each_kind_has_its_row_with_rule_and_remedy() -> None:
    rows = re.findall(
        r"^\| `([A-Z_]+)` \|(.+)\|(.+)\|(.+)\|$", DOCS.read_text(), flags=re.MULTILINE
    )
    assert {name for name, *_ in rows} == set(VerdictKind)
    assert len(rows) == len(VerdictKind)
    assert all(cell.strip() for row in rows for cell in row)


def test_each_metric_has_its_row() -> None:
    told = set(
        re.findall(r"`([a-z_]+)`", DOCS.read_text().split("## Metrics")[1].split("\n## ")[0])
    )
    judged = (ALWAYS, DRAFTING, TIMED, TIMED_DRAFTING, STAGED, STAGED_DRAFTING, WHERE_LIMITED)
    assert told >= WITHOUT_STORE.union(*judged)


def test_the_files_it_names_exist() -> None:
    folder = Path(__file__).parents[2] / "draftgate" / "verdict"
    named = set(re.findall(r"`(\w+\.py)`", DOCS.read_text()))
    assert named
    assert {name for name in named if not (folder / name).exists()} == set()
