"""Write a file so that a reader sees the old text or the new one, whole, also after a crash."""

from __future__ import annotations

import contextlib
import glob
import os
import tempfile
from pathlib import Path


def write_text(path: Path, text: str) -> None:
    """Replace ``path`` by ``text`` (UTF-8): temporary file beside it, fsync, rename.

    Raises OSError (read-only folder, full disk) and leaves no temporary file behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), 0o644)  # mkstemp's 0600 would hide the file from others
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _sync_folder(path.parent)


def remove_leftovers(path: Path) -> None:
    """Remove temporary files of ``path`` that killed writers left; call as its only writer."""
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*"):
        leftover.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
