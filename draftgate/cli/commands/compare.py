"""`draftgate compare`: a recorded run against another."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from draftgate.cli.output import Column, Format, FormatOption, emit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from draftgate.reporting.recorded_run import RecordedRun
    from draftgate.verdict.rule import TimedRule
    from draftgate.verdict.verdict import Verdict

_COLUMNS = (
    Column("cell"),
    Column("metric"),
    Column("verdict"),
    Column("value", numeric=True),
    Column("baseline", numeric=True),
    Column("unit"),
    Column("ratio", numeric=True),
    Column("ci_low", numeric=True),
    Column("ci_high", numeric=True),
    Column("p", numeric=True),
    Column("n", numeric=True),
    Column("limit", numeric=True),
    Column("cause"),
)


def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="The run to compare with.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The run that is judged.")],
    limit: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC=SHARE", help="Largest tolerated loss, 0.05: 5 % (repeat)."),
    ] = None,
    profile: Annotated[
        str,
        typer.Option(
            metavar="NAME|PATH",
            help="Take limits and noise from this profile. Default: the one that both runs name.",
        ),
    ] = "",
    output: FormatOption = Format.TABLE,
) -> int:
    """Judge run B as if run A were its baseline, with the statistics of the gate.

    A and B are results folders of pytest perf_tests, or results of `vllm bench serve
    --save-result`: a file (with --append-result each line is a run) or a folder of files. A record
    is one of verdicts.json. Other prompts are STALE, a cell of one side only is a line, times of
    another machine are INVALID; acceptance is compared exactly on equal CPUs, with its noise by
    prompt elsewhere.

    Exit codes: 0 no regression, 1 tool error, 2 regression, 3 cells that cannot be compared.

    \b
    Examples:
      draftgate compare results/2026-07-01T10-00-00Z results/latest
      draftgate compare old.json new.json --limit mean_e2el_ms=0.1
      draftgate compare main-runs/ branch-runs/ --format json | jq '.[] | select(.verdict != "OK")'
    """
    from draftgate.verdict.compare import exit_code

    verdicts = _judge(first, second, limit or (), profile)
    records = [verdict.record() for verdict in verdicts]
    emit(records if output is Format.JSON else list(map(_shown, records)), _COLUMNS, output)
    for line in _remarks(verdicts):
        print(line, file=sys.stdout if output is Format.TABLE else sys.stderr)
    return exit_code(verdicts)


def _judge(first: Path, second: Path, limits: Sequence[str], profile: str) -> list[Verdict]:
    from draftgate.measure.bench_file import BenchFileError
    from draftgate.reporting.recorded_run import is_results_folder

    asked = dict(map(_limit, limits))
    folders = [is_results_folder(path) for path in (first, second)]
    if all(folders):
        return _judge_runs(first, second, asked, profile)
    if any(folders):
        raise BenchFileError(f"{first} and {second}: one is a results folder, the other is not")
    return _judge_benches(first, second, asked, profile)


def _judge_runs(
    first: Path, second: Path, asked: Mapping[str, float], profile: str
) -> list[Verdict]:
    from draftgate.reporting.recorded_run import RecordedRun
    from draftgate.verdict.compare import DEFAULT_LIMITS, compare_runs
    from draftgate.verdict.recorded import Recorded

    runs = [RecordedRun.read(path) for path in (first, second)]
    for run in runs:
        if not run.complete:
            print(f"draftgate: {run.path} holds a run that did not end", file=sys.stderr)
    sides = [{c: Recorded.of(m) for c, m in run.cells.items()} for run in runs]
    timed = {name for side in sides for cell in side.values() for name in cell.facts.timed}
    _require_judged(asked, {*DEFAULT_LIMITS, *timed})
    stated, rule = _stated(profile or _common_profile(runs))
    return compare_runs(sides[0], sides[1], {**DEFAULT_LIMITS, **stated, **asked}, rule)


def _judge_benches(
    first: Path, second: Path, asked: Mapping[str, float], profile: str
) -> list[Verdict]:
    from draftgate.measure.bench_file import read_bench
    from draftgate.verdict.compare_bench import DEFAULT_LIMITS, compare_bench

    _require_judged(asked, DEFAULT_LIMITS)
    stated, rule = _stated(profile)
    benches = [read_bench(path) for path in (first, second)]
    limits = _known({**DEFAULT_LIMITS, **stated, **asked})
    return compare_bench(benches[0], benches[1], limits, rule)


def _common_profile(runs: Sequence[RecordedRun]) -> str:
    """The profile that both runs name, where it is one of those that are found by name."""
    from draftgate.profile.locate import known_profiles

    first, second = (run.facts.get("profile") for run in runs)
    return first if isinstance(first, str) and first == second in known_profiles() else ""


def _stated(profile: str) -> tuple[dict[str, float], TimedRule]:
    """Limits and rule of a profile; those of a quiet machine without one, which is told."""
    from draftgate.profile import load_profile
    from draftgate.verdict.family import rule_of
    from draftgate.verdict.rule import TimedRule

    if profile:
        loaded = load_profile(profile)
        return loaded.stated_limits(), rule_of(loaded, repeats_tokens=True)
    rule = TimedRule()
    print(
        "draftgate: judged as on a quiet machine, whose sessions differ by "
        f"{100 * rule.noise.session_sd_floor:g} % (one standard deviation); give --profile with "
        "the limits and the noise of yours",
        file=sys.stderr,
    )
    return {}, rule


def _known(limits: Mapping[str, float]) -> dict[str, float]:
    from draftgate.verdict.compare_bench import DEFAULT_LIMITS

    return {metric: limit for metric, limit in limits.items() if metric in DEFAULT_LIMITS}


def _require_judged(asked: Iterable[str], judged: Iterable[str]) -> None:
    if unknown := sorted({*asked} - {*judged}):
        raise typer.BadParameter(
            f"{', '.join(unknown)}: not judged here; what is: {', '.join(sorted(judged))}",
            param_hint="--limit",
        )


def _limit(text: str) -> tuple[str, float]:
    metric, _, share = text.partition("=")
    try:
        value = float(share)
    except ValueError:
        value = -1.0
    if not metric or not 0 < value < 1:
        raise typer.BadParameter(
            f"{text!r} is not METRIC=SHARE with a share between 0 and 1, such as speedup=0.05",
            param_hint="--limit",
        )
    return metric, value


def _shown(record: dict[str, Any]) -> dict[str, Any]:
    """A record for people and spreadsheets: four significant digits."""
    from draftgate.verdict.line import spelled

    numbers = ("value", "baseline", "ratio", "ci_low", "ci_high")
    rounded = {k: spelled(record[k]) if record[k] is not None else None for k in numbers}
    p = record["p"]
    return {**record, **rounded, "p": f"{p:.2g}" if isinstance(p, float) else None}


def _remarks(verdicts: Sequence[Verdict]) -> list[str]:
    from draftgate.verdict.kinds import VerdictKind

    counts = Counter(verdict.verdict for verdict in verdicts)
    ordered = [f"{counts[kind]} {kind}" for kind in VerdictKind if counts[kind]]
    lines = [v.line() for v in verdicts if v.verdict is not VerdictKind.OK]
    return [*lines, f"{len(verdicts)} verdicts: {', '.join(ordered)}"]
