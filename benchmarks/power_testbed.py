"""How many gates on real engines are red, without a change and with a planted fault?

    python benchmarks/power_testbed.py                      # 20 A/A gates, 10 a fault
    python benchmarks/power_testbed.py --aa 2 --gates 1     # a try

A gate is what `pytest perf_tests --perf-reference` does: screening against a stored baseline,
exact metrics, and interleaved pairs against a sound reference where the screening is in doubt.
Engines stay resident between gates and are started anew after every ``--fresh`` gates, so that
the luck of a process start is part of what is measured. Every gate's verdicts that are not OK go
to stderr.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from shutil import rmtree

from draftgate.baseline.store import BaselineStore
from draftgate.cli.output import Column, Format, emit
from draftgate.engine.fault import Fault
from draftgate.engine.forkserver import ForkServers
from draftgate.engine.interpreter import Interpreter
from draftgate.measure.arms import Arms, host_factory
from draftgate.measure.reference import EnvironmentEngines, Reference, twin
from draftgate.measure.session import Session
from draftgate.plugin.gate import Gate
from draftgate.plugin.options import Options
from draftgate.plugin.reference_stage import ReferenceStage
from draftgate.plugin.surroundings import Surroundings
from draftgate.plugin.updating import update_baselines
from draftgate.profile import load_profile
from draftgate.profile.cells import Cell, Scenario
from draftgate.profile.model import Profile
from draftgate.reporting.results_folder import ResultsFolder
from draftgate.verdict.equality import OUTPUTS_EQUAL_CONTROL
from draftgate.verdict.family import rule_of
from draftgate.verdict.kinds import VerdictKind
from draftgate.verdict.verdict import Verdict
from draftgate.workload import load_workload

PROFILE = Path(__file__).with_suffix(".toml")
DRAFTING = {"acceptance_length", "per_position_acceptance_rate", "drafted_tokens"}

CauseRight = Callable[[Sequence[Verdict]], bool]


class Silent:
    """In place of the progress line."""

    def round_done(self, *_: object) -> None:
        pass

    def engine_changed(self, *_: object) -> None:
        pass


def slower_steps(red: Sequence[Verdict]) -> bool:
    """Times only, for longer steps at the same acceptance."""
    return bool(red) and all(
        not v.exact and "step time +" in v.cause and "acceptance unchanged" in v.cause for v in red
    )


def other_drafts(red: Sequence[Verdict]) -> bool:
    """Acceptance and drafted tokens are among what is red, whatever they did to the times."""
    return bool(DRAFTING & {v.metric for v in red})


@dataclass(frozen=True)
class Plan:
    """``name`` is the environment of the engines with the fault; A/A has none of its own."""

    name: str
    fault: Fault | None
    cause_right: CauseRight

    def place(self, scenario: Scenario) -> Scenario:
        """The engine under test; the control is sound in every plan."""
        if self.fault is None or scenario.is_control:
            return scenario
        return replace(scenario, environment=self.name)


AA = Plan("none", None, lambda red: not red)
PLANS = (
    Plan("sleep", Fault(kind="sleep", size=0.1), slower_steps),
    Plan("drafter-twice", Fault(kind="drafter-twice", size=1), slower_steps),
    Plan("k", Fault(kind="k", size=0.5), other_drafts),
)


@dataclass(frozen=True)
class Bench:
    """What all gates share: profile, prompts, machine, baselines and a folder for results."""

    profile: Profile
    folder: Path
    load: Callable
    here: Surroundings

    @property
    def store(self) -> BaselineStore:
        return BaselineStore(self.folder / "baselines")

    def arms(self) -> Arms:
        faults = {plan.name: plan.fault for plan in PLANS}
        forks = ForkServers(self.folder / "logs")
        make = host_factory(
            self.folder / "logs",
            launch=forks.launch,
            max_num_seqs=lambda scenario: max(self.profile.batch_sizes(scenario.target)),
            seed=self.profile.seed,
            fault=lambda scenario: faults.get(scenario.environment),
        )
        return Arms(make, self.profile.plan.resident, on_close=forks.close)

    def gate(self, arms: Arms, plan: Plan, name: str) -> Gate:
        """A gate of its own on the resident engines."""
        silent = Silent()
        under_test = EnvironmentEngines(arms, plan.place)
        session = Session(self.profile, under_test, self.load, self.here.describe, silent)
        theirs = Session(
            self.profile, EnvironmentEngines(arms), self.load, self.here.describe, silent
        )
        design = self.profile.plan
        reference = Reference(
            session, theirs, design.reference_pairs, design.reference_starts, silent.round_done
        )
        rule = rule_of(self.profile, repeats_tokens=True)
        stage = ReferenceStage(reference, Interpreter.this(), self.profile.limits.stated(), rule)
        folder = ResultsFolder.create(self.folder / "results" / name)
        options = Options(str(PROFILE), None, None, self.folder / "baselines", None, None)
        cells = self.profile.cells()
        return Gate(
            *(options, self.profile, cells, arms, session, self.store, folder, silent, self.here),
            *(rule, stage),
        )

    def start(self, arms: Arms, plan: Plan) -> None:
        """Start what the plan's gates need, before anything is timed."""
        scenarios = self.profile.scenarios()
        arms.start(dict.fromkeys((*map(twin, scenarios), *map(plan.place, scenarios))))

    def store_baselines(self, tries: int = 30) -> None:
        """Measure the sound engines in processes of their own, again where they were too noisy."""
        for number in range(tries):
            problems = self._stored(f"baseline-{number}")
            if not problems:
                return
            print(*problems, sep="\n", file=sys.stderr)
            rmtree(self.store.root, ignore_errors=True)  # half of a try is worse than none
        sys.exit(f"no baseline in {tries} tries")

    def _stored(self, name: str) -> Sequence[str]:
        with self.arms() as arms:
            self.start(arms, AA)
            gate = self.gate(arms, AA, name)
            found = [gate.measured(cell) for cell in gate.cells]
        options = replace(gate.options, update="all")
        limits = self.profile.limits.stated()
        here = self.here.provenance
        return update_baselines(options, self.store, found, limits, here, None).problems


def judge(gate: Gate) -> list[Verdict]:
    """Every verdict that `perf_tests` asks for."""
    return [gate.judge(cell, metric) for cell in gate.cells for metric in metrics_of(cell)]


def metrics_of(cell: Cell) -> Iterator[str]:
    yield from ("output_throughput", "tokens_per_step", "outputs")
    if not cell.scenario.is_control:
        yield from ("speedup", *DRAFTING, OUTPUTS_EQUAL_CONTROL)


def run(bench: Bench, plan: Plan, gates: int, fresh: int) -> dict[str, object]:
    """The plan's gates, and the record of DESIGN's `power`."""
    reds: list[list[Verdict]] = []
    doubtful = 0
    for first in range(0, gates, fresh):
        with bench.arms() as arms:
            bench.start(arms, plan)
            for number in range(first, min(first + fresh, gates)):
                began = time.monotonic()
                gate = bench.gate(arms, plan, f"{plan.name}-{number}")
                verdicts = judge(gate)
                if gate.reference is not None:
                    gate.reference.write(gate.folder)
                reds.append([v for v in verdicts if gate.fails(v)])
                doubtful += any(v.verdict is VerdictKind.UNSTABLE for v in verdicts)
                tell(plan, number, verdicts, time.monotonic() - began)
    red = [found for found in reds if found]
    low, high = interval(len(red), gates)
    return {
        "fault": plan.name,
        "size": plan.fault.size if plan.fault else None,
        "gates": gates,
        "red": len(red),
        "rate": len(red) / gates,
        "ci_low": low,
        "ci_high": high,
        "cause_right": sum(map(plan.cause_right, red)) if plan.fault else None,
        "unstable": doubtful,
    }


def tell(plan: Plan, number: int, verdicts: Iterable[Verdict], seconds: float) -> None:
    said = [v.line() for v in verdicts if v.verdict is not VerdictKind.OK]
    print(f"{plan.name} gate {number}: {seconds:.0f} s", *said, sep="\n  ", file=sys.stderr)


def interval(red: int, gates: int) -> tuple[float, float]:
    """Exact 95 % confidence interval of the rate."""
    from scipy.stats import binomtest

    found = binomtest(red, gates).proportion_ci()
    return round(float(found.low), 3), round(float(found.high), 3)


@contextmanager
def _results(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True)
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="draftgate-power-") as folder:
        yield Path(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--aa", type=int, default=20, help="gates without a change")
    parser.add_argument("--gates", type=int, default=10, help="gates a fault")
    parser.add_argument("--fresh", type=int, default=5, help="gates between engine starts")
    parser.add_argument("--fault", choices=[p.name for p in PLANS], action="append")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave every gate's results there")
    parser.add_argument("--format", type=Format, choices=list(Format), default=Format.TABLE)
    asked = parser.parse_args()
    chosen = [plan for plan in PLANS if asked.fault is None or plan.name in asked.fault]
    with _results(asked.keep) as folder:
        bench = Bench(
            load_profile(str(PROFILE)),
            folder,
            lru_cache(None)(load_workload),
            Surroundings.here(),
        )
        bench.store_baselines()
        plans = [(AA, asked.aa), *((plan, asked.gates) for plan in chosen)]
        records = []
        with suppress(KeyboardInterrupt):  # what is done is shown
            for plan, gates in plans:
                if gates:
                    records.append(run(bench, plan, gates, asked.fresh))
                    print(records[-1], file=sys.stderr)
    names = ("size", "gates", "red", "rate", "ci_low", "ci_high", "cause_right", "unstable")
    emit(records, (Column("fault"), *(Column(n, numeric=True) for n in names)), asked.format)


if __name__ == "__main__":
    main()
