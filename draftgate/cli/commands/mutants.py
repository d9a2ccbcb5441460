"""`draftgate mutants`: whether the suite kills the faults that it should."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from draftgate.cli.output import Column, Format, FormatOption, emit
from draftgate.lossless.mutants.mutant import Subset

if TYPE_CHECKING:
    from draftgate.lossless.mutants.engine_trial import Workbench
    from draftgate.lossless.mutants.mutant import Mutant, Outcome

_OUTCOME = (
    Column("mutant"),
    Column("kind"),
    Column("expected_channel"),
    Column("killed_by"),
    Column("test"),
    Column("seconds", numeric=True),
)
_LISTED = (
    Column("mutant"),
    Column("kind"),
    Column("where"),
    Column("expected_channel"),
    Column("quick"),
    Column("source"),
)
_BY_MODULE = (Column("module"), Column("kills", numeric=True), Column("only_it_kills"))
UNEXPECTED = 2


def mutants(
    subset: Annotated[
        Subset | None,
        typer.Option(help="Which: `modules` has one for each test module. Default: quick."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="These, or those that begin so.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Print the catalogue; run none.")] = False,
    by_module: Annotated[
        bool, typer.Option("--by-module", help="Which mutants only one test module kills.")
    ] = False,
    tests: Annotated[
        Path, typer.Option(metavar="DIR", help="The suite that must kill them.")
    ] = Path("correctness_tests"),
    logs: Annotated[
        Path, typer.Option(metavar="DIR", help="Output of pytest and the engines.")
    ] = Path("results/mutants"),
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="Processes side by side, a core each.")
    ] = 2,
    output: FormatOption = Format.TABLE,
) -> int:
    """Put known faults back into vLLM, in memory, and see which check kills each.

    A mutant is a fault of vLLM's history, or of a kind seen there; the suite must kill it by the
    expected channel (losslessness, acceptance, metric or time). Controls change the code, not its
    result, and must live: they have no expected channel. vLLM's files are never changed.

    Exit codes: 0 all as expected, 1 tool error, 2 a mutant lived, a control died, another channel
    killed, or (--by-module) the suite would kill as many without some module.

    \b
    Examples:
      draftgate mutants
      draftgate mutants --subset all --format csv > mutants.csv
      draftgate mutants --only v2- --only control-v2
      draftgate mutants --subset modules --by-module
    """
    from draftgate.lossless.mutants.catalogue import chosen

    selected = chosen(subset or (Subset.ALL if listed else Subset.QUICK), only or ())
    if listed:
        emit([_listed(mutant) for mutant in selected], _LISTED, output)
        return 0
    if by_module:
        modules = _by_module(selected, tests, logs, jobs)
        emit(modules, _BY_MODULE, output)
        needless = [row for row in modules if not row["only_it_kills"]]
        return UNEXPECTED if needless and not only else 0
    return _run(selected, tests, logs, jobs, output)


def _run(selected: tuple[Mutant, ...], tests: Path, logs: Path, jobs: int, output: Format) -> int:
    from draftgate.lossless.mutants.campaign import outcomes

    found: list[Outcome] = []
    for outcome in outcomes(selected, tests=tests, log_dir=logs, workbench=_workbench, jobs=jobs):
        found.append(outcome)
        print(f"[{len(found)}/{len(selected)}] {_line(outcome)}", file=sys.stderr, flush=True)
    emit([outcome.record() for outcome in found], _OUTCOME, output)
    unexpected = [outcome for outcome in found if not outcome.as_expected]
    print(f"{len(found)} mutants, {len(unexpected)} not as expected", file=sys.stderr)
    return UNEXPECTED if unexpected else 0


def _workbench() -> Workbench:
    """The tiny family's variants, on prompts of which some are copied and some are not."""
    from draftgate.engine import EngineSpec, RoundPrompt
    from draftgate.lossless.mutants.engine_trial import workbench
    from draftgate.measure.identities import check
    from draftgate.profile import load_profile
    from draftgate.workload import load_workload

    profile = load_profile("cpu")
    target = profile.targets[0]
    variants = {variant.name: variant for variant in target.variants}
    prompts = [
        RoundPrompt(prompt_id=prompt.prompt_id, text=prompt.text)
        for workload in profile.workloads
        if workload.name in ("instructcoder", "gsm8k")
        for prompt in load_workload(workload).prompts[:4]
    ]
    return workbench(
        lambda variant: EngineSpec.from_target(
            target, variants[variant].speculative_config, max_num_seqs=4, seed=profile.seed
        ),
        prompts,
        lambda record, k: [broken.identity for broken in check([record], k)],
    )


def _by_module(
    selected: tuple[Mutant, ...], tests: Path, logs: Path, jobs: int
) -> list[dict[str, str | int]]:
    from draftgate.lossless.mutants.campaign import killing_modules

    killers: dict[str, frozenset[str]] = {}
    for mutant, by in killing_modules(selected, tests=tests, log_dir=logs, jobs=jobs):
        killers[mutant.id] = by
        print(f"[{len(killers)}] {mutant.id}: {' '.join(sorted(by)) or 'lives'}", file=sys.stderr)
    modules = sorted(path.name for path in tests.glob("test_*.py"))
    return [
        {
            "module": module,
            "kills": sum(module in by for by in killers.values()),
            "only_it_kills": " ".join(sorted(i for i, by in killers.items() if by == {module})),
        }
        for module in modules
    ]


def _listed(mutant: Mutant) -> dict[str, str | bool | None]:
    return {
        "mutant": mutant.id,
        "kind": mutant.kind,
        "where": mutant.where,
        "expected_channel": mutant.expected_channel,
        "quick": mutant.quick,
        "source": mutant.source,
    }


def _line(outcome: Outcome) -> str:
    fate = f"killed by {outcome.killed_by}: {outcome.test}" if outcome.killed_by else "lives"
    mark = "" if outcome.as_expected else f" (expected: {outcome.mutant.expected_channel})"
    return f"{outcome.mutant.id} {fate}{mark}, {outcome.seconds:.1f} s"
