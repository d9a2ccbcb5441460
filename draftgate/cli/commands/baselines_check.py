"""`draftgate baselines check`: can the stored numbers be trusted?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from draftgate.cli.commands.baselines_folder import require_folder
from draftgate.cli.output import Column, Format, FormatOption, emit

UNSOUND = 2

_COLUMNS = (Column("level"), Column("file"), Column("cell"), Column("text"))


def check(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="Baselines.")] = Path("baselines"),
    profile: Annotated[
        str, typer.Option(metavar="auto|NAME|PATH", help="Whose limits bound the drift.")
    ] = "auto",
    max_age: Annotated[int, typer.Option(min=0, metavar="DAYS", help="Older is a warning.")] = 90,
    output: FormatOption = Format.TABLE,
) -> int:
    """Check every file of baselines.

    Errors: a file that cannot be read (NaN, 0, a string for a number, merge-conflict markers, a
    newer schema), a cell that lost more than its limit since the anchored release. Warnings: age,
    cells that no profile has, files that nothing reads. Exit codes: 0 no error, 2 errors.

    \b
    Examples:
      draftgate baselines check
      draftgate baselines check --profile cpu-full --max-age 30 --format json
    """
    from datetime import UTC, datetime

    from draftgate.baseline.soundness import Expectation
    from draftgate.baseline.soundness import check as remarks_on
    from draftgate.profile import load_profile
    from draftgate.profile.locate import known_profiles

    require_folder(folder)
    loaded = load_profile(profile)
    profiles = [loaded, *map(load_profile, known_profiles())]
    expected = Expectation(
        cells={cell.id for known in profiles for cell in known.cells()},
        limits=loaded.limits.stated(),
        today=datetime.now(UTC).date(),
        max_age=max_age,
    )
    remarks = remarks_on(folder, expected)
    emit([remark.record() for remark in remarks], _COLUMNS, output)
    return UNSOUND if any(remark.level == "error" for remark in remarks) else 0
