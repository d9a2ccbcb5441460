"""Where the baseline of a cell lies: cell id -> file and key in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from draftgate.baseline.errors import BaselineError

PORTABLE = "portable"
ANCHOR = "anchor"

CELL_KEY = re.compile(r"[A-Za-z0-9_][\w.+-]*/bs[1-9]\d*")

_FOLDER = re.compile(r"[A-Za-z0-9_][\w.+-]*")  # one path component, nothing hidden, no ".."


class Address(NamedTuple):
    """``scenario`` = target/variant names the file, ``key`` = workload/bsN the cell in it."""

    scenario: str
    key: str

    @classmethod
    def of(cls, cell_id: str) -> Address:
        """Split a cell id; raises BaselineError on anything but ``target/variant/workload/bsN``."""
        target, _, rest = cell_id.partition("/")
        variant, _, key = rest.partition("/")
        if not (_FOLDER.fullmatch(target) and _FOLDER.fullmatch(variant)):
            raise _no_cell(cell_id)
        if not CELL_KEY.fullmatch(key):
            raise _no_cell(cell_id)
        return cls(f"{target}/{variant}", key)


def exact_path(root: Path, isa: str, scenario: str) -> Path:
    """``portable/<isa>/<target>/<variant>.json``."""
    return root / PORTABLE / _folder(isa) / f"{scenario}.json"


def timed_path(root: Path, fingerprint: str, scenario: str) -> Path:
    """``<fingerprint>/<target>/<variant>.json``."""
    return root / _folder(fingerprint) / f"{scenario}.json"


def anchor_path(root: Path, fingerprint: str, scenario: str) -> Path:
    """``anchor/<fingerprint>/<target>/<variant>.json``."""
    return root / ANCHOR / _folder(fingerprint) / f"{scenario}.json"


def _folder(key: str) -> str:
    if not _FOLDER.fullmatch(key) or key in (PORTABLE, ANCHOR):
        raise BaselineError(
            key, "not usable as a folder name", remedy="use letters, digits and . _ + -"
        )
    return key


def _no_cell(cell_id: str) -> BaselineError:
    remedy = "write target/variant/workload/bsN, for example llama-tiny/eagle3-k3/gsm8k/bs8"
    return BaselineError(cell_id, "not a cell id", remedy=remedy)
