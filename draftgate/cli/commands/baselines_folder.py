"""The folder that `draftgate baselines ...` is about."""

from __future__ import annotations

from pathlib import Path

import typer


def require_folder(folder: Path) -> None:
    """Refuse what is no folder."""
    if not folder.is_dir():
        raise typer.BadParameter(f"{folder} is no folder of baselines", param_hint="DIR")
