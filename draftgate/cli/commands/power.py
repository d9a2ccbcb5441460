"""`draftgate power`: false alarms and misses of the gate, on simulated engines."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from draftgate.cli.output import Column, Format, FormatOption, emit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from draftgate.profile.model import Profile
    from draftgate.verdict.power.engine_noise import EngineNoise
    from draftgate.verdict.power.fault import Fault
    from draftgate.verdict.power.simulated_gate import SimulatedGate

_COLUMNS = (
    Column("fault"),
    Column("size", numeric=True),
    Column("gates", numeric=True),
    Column("red", numeric=True),
    Column("rate", numeric=True),
    Column("ci_low", numeric=True),
    Column("ci_high", numeric=True),
    Column("cause_right", numeric=True),
)
_DIGITS = 4


def power(
    profile: Annotated[
        str, typer.Option(metavar="auto|NAME|PATH", help="Whose cells and limits.")
    ] = "auto",
    gates: Annotated[int, typer.Option(min=1, help="Gates simulated for each fault size.")] = 299,
    fault: Annotated[
        str,
        typer.Option(
            metavar="none|sleep|acceptance",
            help="none: equal engines; sleep: every step longer; acceptance: tokens lost.",
        ),
    ] = "none",
    size: Annotated[
        str,
        typer.Option(metavar="SIZE,...", help="Sleep: share of a step (0.05); acceptance: tokens."),
    ] = "",
    hit: Annotated[int, typer.Option(min=1, help="Cells that carry the fault.")] = 1,
    limit: Annotated[
        float | None,
        typer.Option(min=0.001, max=0.999, help="Limit of both metrics, not the profile's."),
    ] = None,
    noise: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RESULTS", help="Fit noise and rules to these results folders (repeat)."
        ),
    ] = None,
    reference: Annotated[
        bool, typer.Option(help="Confirm suspects against a reference, as --perf-reference does.")
    ] = True,
    rounds: Annotated[int | None, typer.Option(min=3, help="Timed rounds of a cell.")] = None,
    starts: Annotated[
        int | None,
        typer.Option(min=1, help="Process starts of either side that confirm a suspect."),
    ] = None,
    pairs: Annotated[
        int | None, typer.Option(min=1, help="Interleaved pairs of rounds, over all starts.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 42,
    output: FormatOption = Format.TABLE,
) -> None:
    """Send equal and faulty simulated engines through the gate's rules; count the red gates.

    Drawn are throughput and speed-up of every timed cell.

    A record is {fault, size, gates, red, rate, ci_low, ci_high, cause_right}. Each bound of the
    rate (Clopper-Pearson) holds with 95 % confidence; cause_right is the share of red gates in
    which a cell with the fault names it. Without --noise the engine is a quiet GPU: neighbouring
    rounds differ by 2 %, starts by 0.5 % (one standard deviation). With it the rules reckon with
    the fitted noise, as they do once the profile states it under [plan]. What is not given
    (--limit, --rounds, --starts, --pairs) is the profile's.

    \b
    Examples:
      draftgate power                                        false alarms
      draftgate power --fault sleep --size 0.02,0.05,0.10 --limit 0.03
      draftgate power --fault acceptance --size 1
      draftgate power --noise results/monday --noise results/tuesday --no-reference
    """
    from draftgate.profile import load_profile
    from draftgate.verdict.power.rates import Rate
    from draftgate.verdict.power.simulated_gate import Design, SimulatedGate

    engine = _noise(noise or ())
    loaded = _limited(load_profile(profile), limit)
    if noise:
        loaded = _reckoning_with(engine, loaded)
    plan = loaded.plan
    confirm_sessions = starts or plan.reference_starts
    design = Design(
        rounds=rounds or plan.rounds,
        confirm_sessions=confirm_sessions,
        confirm_pairs=-(-(pairs or plan.reference_pairs) // confirm_sessions),
        reference=reference,
        hit=hit,
    )
    simulated = [SimulatedGate(loaded, engine, planted, design) for planted in _faults(fault, size)]
    rates = [Rate.of(gate.fault, gate.run(gates, seed)) for gate in simulated]
    emit([_rounded(asdict(rate)) for rate in rates], _COLUMNS, output)
    stream = sys.stdout if output is Format.TABLE else sys.stderr
    print(_summary(simulated[0]), file=stream)


def _limited(profile: Profile, limit: float | None) -> Profile:
    if limit is None:
        return profile
    both = {"output_throughput": limit, "speedup": limit}
    return profile.model_copy(update={"limits": profile.limits.model_copy(update=both)})


def _reckoning_with(noise: EngineNoise, profile: Profile) -> Profile:
    """The profile, once it states the noise of its machine."""
    plan = profile.plan
    stated = {
        "session_sd": max(plan.session_sd, round(noise.between_sessions, _DIGITS)),
        "start_sd": max(plan.start_sd, round(noise.session_sd, _DIGITS)),
    }
    return profile.model_copy(update={"plan": plan.model_copy(update=stated)})


def _noise(folders: Sequence[Path]) -> EngineNoise:
    from draftgate.reporting.recorded_run import RecordedRun
    from draftgate.verdict.facts import CellFacts
    from draftgate.verdict.power.engine_noise import QUIET_GPU, fit_noise

    if not folders:
        return QUIET_GPU
    runs = [RecordedRun.read(folder) for folder in folders]
    return fit_noise(CellFacts.of(cell) for run in runs for cell in run.cells.values())


def _faults(kind: str, sizes: str) -> list[Fault]:
    from draftgate.verdict.power.fault import Fault, FaultKind

    if kind not in list(FaultKind):
        raise typer.BadParameter(
            f"{kind!r} is none of {', '.join(FaultKind)}", param_hint="--fault"
        )
    if kind == FaultKind.NONE:
        return [Fault()]
    default = "0.05" if kind == FaultKind.SLEEP else "1"
    try:
        return [Fault(FaultKind(kind), float(word)) for word in (sizes or default).split(",")]
    except ValueError as error:
        raise typer.BadParameter(f"{sizes!r}: {error}", param_hint="--size") from None


def _rounded(record: dict[str, object]) -> dict[str, object]:
    return {k: round(v, _DIGITS) if isinstance(v, float) else v for k, v in record.items()}


def _summary(gate: SimulatedGate) -> str:
    profile, noise, design = gate.profile, gate.noise, gate.design
    confirmed = (
        f"suspects confirmed by {design.confirm_sessions} x {design.confirm_pairs} pairs"
        if design.reference
        else "no reference"
    )
    return (
        f"profile {profile.name}: {gate.comparisons} comparisons of speed, judged as "
        f"{gate.rule.family_size} noisy ones are (shares and acceptance are not drawn), "
        f"{confirmed}, rules reckon with "
        f"session_sd = {profile.plan.session_sd:g} and start_sd = {profile.plan.start_sd:g}; "
        f"noise of the simulated engine (one standard deviation): "
        f"machine {100 * noise.machine_sd:.1f} %, start {100 * noise.session_sd:.1f} %, "
        f"round {100 * noise.round_sd:.1f} %"
    )
