"""`draftgate plan`: what a profile would measure."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from draftgate.cli.output import Column, Format, FormatOption, duration, emit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from draftgate.profile import Cell, Profile, Totals

_COLUMNS = (
    Column("cell"),
    Column("scenario"),
    Column("arm"),
    Column("workload"),
    Column("batch_size", numeric=True),
    Column("prompts", numeric=True),
    Column("estimated_s", numeric=True),
)


def plan(
    profile: Annotated[
        str, typer.Option(metavar="auto|NAME|PATH", help="The profile to plan.")
    ] = "auto",
    output: FormatOption = Format.TABLE,
    keyword: Annotated[
        str, typer.Option("-k", metavar="SUBSTRING", help="Only cells whose id contains this.")
    ] = "",
    shard: Annotated[
        str, typer.Option(metavar="i/n", help="Only what `pytest --shard i/n` measures.")
    ] = "",
) -> None:
    """Print a profile's cells, engine starts and estimated time; start nothing.

    The estimate is a guess from the constants in the profile's [plan.estimate]: timed rounds at the
    control's speed, plus engine starts; warm-up, prefill and reference engines are left out. A
    selection also starts the controls that its cells are compared with. Local models and files that
    are not on this machine are named.

    \b
    Examples:
      draftgate plan
      draftgate plan --profile cpu-full -k eagle3
      draftgate plan --profile h100-qwen3-8b --format csv > plan.csv
      draftgate plan --profile cpu-full --shard 1/2
      draftgate plan --profile ./mine.toml --format json | jq '.[].cell'
    """
    from draftgate.profile import estimate_seconds, load_profile, totals

    loaded = load_profile(profile)
    chosen = _select(_of_shard(loaded, shard), keyword, loaded.name)
    records = [
        {
            "cell": cell.id,
            "scenario": cell.scenario.id,
            "arm": cell.scenario.arm,
            "workload": cell.workload.name,
            "batch_size": cell.batch_size,
            "prompts": cell.workload.prompts,
            "estimated_s": round(estimate_seconds(loaded.plan, cell), 1),
        }
        for cell in chosen
    ]
    emit(records, _COLUMNS, output)
    measured = dict.fromkeys((*chosen, *(cell.control for cell in chosen)))
    summary = _summary(totals(loaded.plan, measured), len(measured) - len(chosen))
    print(summary, file=sys.stdout if output is Format.TABLE else sys.stderr)
    for missing in _missing(chosen):
        print(f"draftgate: not on this machine: {missing}", file=sys.stderr)


def _missing(cells: tuple[Cell, ...]) -> Iterator[str]:
    """Local models and files that the cells need; a plan for another machine is a plan."""
    from draftgate.engine.errors import SpecError
    from draftgate.engine.models import resolve_models
    from draftgate.engine.spec import EngineSpec

    for scenario in dict.fromkeys(cell.scenario for cell in cells):
        config = scenario.variant.speculative_config
        try:
            resolve_models(EngineSpec.from_target(scenario.target, config, max_num_seqs=1, seed=0))
        except SpecError as error:
            yield f"{scenario.id}: {error}"
    for name, path in {cell.workload.name: cell.workload.path for cell in cells}.items():
        if path is not None and not Path(path).exists():
            yield f"workload {name}: path = {str(path)!r}"


def _of_shard(profile: Profile, shard: str) -> tuple[Cell, ...]:
    from draftgate.profile.shards import Shard, scenarios_of

    if not shard:
        return profile.cells()
    ours = scenarios_of(profile, Shard.parse(shard))
    return tuple(cell for cell in profile.cells() if cell.scenario in ours)


def _select(cells: tuple[Cell, ...], keyword: str, profile: str) -> tuple[Cell, ...]:
    needle = keyword.lower()
    chosen = tuple(c for c in cells if needle in c.id.lower() or needle in c.test_id.lower())
    if not chosen:
        raise typer.BadParameter(
            f"no cell of profile {profile!r} contains {keyword!r}; "
            f"an id looks like {cells[0].id!r}, and `draftgate plan` without -k lists them all",
            param_hint="-k",
        )
    return chosen


def _summary(sums: Totals, controls: int) -> str:
    added = f" (with {controls} more of their controls)" if controls else ""
    return (
        f"cells {sums.cells}{added}, engine starts {sums.engine_starts}, "
        f"estimated time {duration(sums.estimated_s)}"
    )
