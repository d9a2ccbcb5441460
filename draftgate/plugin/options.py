"""The command-line options of the plugin, and their values as one frozen record."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

import pytest

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
        choices=("new", "changed", "all"),
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
        help="a cell without a timed baseline fails (default under CI where the profile "
        "declares a fingerprint)",
    )


@dataclass(frozen=True)
class Options:
    """Values of the options of one pytest run."""

    profile: str
    update: Update | None
    accept_regression: str | None
    baseline_dir: Path
    results: Path | None
    require_baseline: bool | None

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
        )

    def requires_baseline(self, profile_fingerprint: str | None) -> bool:
        """Whether UNBASELINED fails: as said, else under CI for a profile with a fingerprint."""
        if self.require_baseline is not None:
            return self.require_baseline
        return bool(os.environ.get("CI")) and profile_fingerprint is not None
