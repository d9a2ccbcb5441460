"""Ctrl-C in every phase: engines end, and what was measured stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_engines import FakeEngines
from small_project import Run

Load = Callable[[str], Any]
ROUND = {"start-up": 0, "warm-up": 1, "first timed round": 3, "last timed round": 5}


@pytest.mark.parametrize("phase", ROUND)
def test_what_was_measured_is_kept(
    run: Run, engines: FakeEngines, project: Path, load: Load, phase: str
) -> None:
    engines["tiny/ngram-k3"].fails_at = {ROUND[phase]: KeyboardInterrupt()}
    result = run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert engines.hosts
    assert not engines.running
    facts = load("results/1/run.json")
    assert facts["exit_reason"] == "interrupted"
    assert len(facts["cells"]) == 8
    kept = set() if phase == "start-up" else {"tiny/none/gsm8k/bs2"}
    assert {v["cell"] for v in load("results/1/verdicts.json")} == kept
    files = {path.name for path in (project / "results/1/cells").iterdir()}
    assert files == {f"{cell.replace('/', '-')}.json" for cell in kept}
    result.stdout.fnmatch_lines(["results: results/1"])


def test_nothing_is_running_even_where_a_later_engine_is_interrupted(
    run: Run, engines: FakeEngines
) -> None:
    engines["other/ngram-k3"].fails_at = {0: KeyboardInterrupt()}
    assert run().ret == pytest.ExitCode.INTERRUPTED
    assert len(engines.hosts) == 5
    assert not engines.running


def test_an_interrupted_run_writes_no_baselines(
    run: Run, engines: FakeEngines, project: Path
) -> None:
    engines["tiny/ngram-k3"].fails_at = {4: KeyboardInterrupt()}
    result = run("--update-baselines")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["baseline not written: tiny/none/gsm8k/bs2 * interrupted"])
    assert not (project / "baselines").exists()
