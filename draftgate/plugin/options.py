"""The command-line options of the plugin, and their values as one frozen record."""

from __future__ import annotations

import os
from argparse import ArgumentTypeError
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

import pytest

from draftgate.plugin.faults import PlantedFault

Update = Literal["new", "changed", "all"]


def add_options(parser: pytest.Parser) -> None:
    """Register the options under ``draftgate`` in ``pytest --help``."""
    group = parser.getgroup("draftgate", "speculative-decoding gate (draftgate)")
    add = group.addoption
    add("--profile", default="auto", metavar="auto|NAME|PATH", help="what to measure")
    add(
        "--update-baselines",
        nargs="?",
        const="changed",
        type=_update,
        metavar="new|changed|all",
        help="write baselines of the valid cells that ran: only new ones, new and changed ones "
        "(default), or all",
    )
    add(
        "--accept-regression",
        metavar="REASON",
        help="let --update-baselines store a worse value, with the reason in its provenance",
    )
    add("--baseline-dir", type=Path, default=Path("baselines"), metavar="DIR", help="baselines")
    add(
        "--perf-json",
        type=Path,
        metavar="DIR",
        help="folder of this run's results (default results/<UTC time>)",
    )
    add(
        "--perf-require-baseline",
        action="store_true",
        default=None,
        help="a metric without a baseline fails (default under CI where the profile "
        "declares a fingerprint)",
    )
    add("--shard", default="", metavar="i/n", help="measure the scenarios of shard i of n only")
    add(
        "--prune-baselines",
        action="store_true",
        help="after a full run that passed, delete this machine's baselines of cells that no "
        "profile has",
    )
    add(
        "--perf-history", type=Path, metavar="FILE", help="append the run to a history (JSON lines)"
    )
    add(
        "--perf-reference",
        type=Path,
        metavar="PYTHON",
        help="interpreter of another environment (the merge base, the installed release) whose "
        "vLLM measures the same cells beside this one and settles what the baselines cannot",
    )
    add(
        "--perf-fault",
        type=PlantedFault.parse,
        metavar="KIND[:SIZE][@SCENARIO]",
        help="test the gate: plant a fault in the engines under test; sleep (share of a step), "
        "drafter-twice, k (factor), noisy-head (standard deviations), early-stop (share of the "
        "output limit), drop-cells (number)",
    )


def _update(text: str) -> str:
    """argparse hands a path that follows the bare option to it, and the message must say so."""
    if text not in get_args(Update):
        raise ArgumentTypeError(
            f"{text!r} is none of {', '.join(get_args(Update))}; put a bare --update-baselines "
            "behind the paths"
        )
    return text


@dataclass(frozen=True)
class Options:
    """Values of the options of one pytest run."""

    profile: str
    update: Update | None
    accept_regression: str | None
    baseline_dir: Path
    results: Path | None
    require_baseline: bool | None
    shard: str = ""
    prune: bool = False
    history: Path | None = None
    reference: Path | None = None
    fault: PlantedFault | None = None

    @classmethod
    def from_pytest(cls, config: pytest.Config) -> Options:
        """Read them from ``config``."""
        get = config.getoption
        return cls(
            profile=get("profile"),
            update=cast("Update | None", get("update_baselines")),
            accept_regression=get("accept_regression"),
            baseline_dir=get("baseline_dir"),
            results=get("perf_json"),
            require_baseline=get("perf_require_baseline"),
            shard=get("shard"),
            prune=get("prune_baselines"),
            history=get("perf_history"),
            reference=get("perf_reference"),
            fault=get("perf_fault"),
        )

    def again(self) -> list[str]:
        """The arguments that select the same profile and baselines once more, in any shell."""
        from draftgate.profile import default_profile  # slow to import, and most runs need it not

        profile = default_profile() if self.profile == "auto" else self.profile
        return ["--profile", profile, "--baseline-dir", str(self.baseline_dir)]

    def check(self) -> None:
        """Raises pytest.UsageError on options that contradict each other."""
        if self.fault is not None and self.update is not None:
            raise pytest.UsageError(
                "--perf-fault plants a fault, so --update-baselines refuses its numbers"
            )
        if self.fault is not None and self.history is not None:
            raise pytest.UsageError(
                "--perf-fault plants a fault, so its numbers do not belong in --perf-history"
            )
        if self.accept_regression is None:
            return
        if self.update is None:
            raise pytest.UsageError("--accept-regression needs --update-baselines beside it")
        if not self.accept_regression.strip():
            raise pytest.UsageError("--accept-regression needs a reason, for the baseline's record")
        if not self.accept_regression.isprintable():
            raise pytest.UsageError("--accept-regression: the reason is no readable line of text")

    def requires_baseline(self, profile_fingerprint: str | None) -> bool:
        """Whether UNBASELINED fails: as said, else under CI for a profile with a fingerprint."""
        if self.require_baseline is not None:
            return self.require_baseline
        under_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
        return under_ci and profile_fingerprint is not None
