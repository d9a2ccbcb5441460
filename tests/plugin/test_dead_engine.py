"""An engine that dies fails its own cells clearly; the others go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fake_engines import LOG_TAIL, FakeEngines, died
from outcome import cells_of, failures, first_lines
from small_project import Run

from draftgate.engine.errors import EngineError

Load = Callable[[str], Any]
DIES_AT = {"start-up": 0, "warm-up": 1, "mid-run": 4}


@pytest.mark.parametrize("phase", DIES_AT)
def test_an_arm_takes_down_its_own_cells_only(
    run: Run, engines: FakeEngines, load: Load, phase: str
) -> None:
    stage = "start-up" if phase == "start-up" else "round"
    engines["tiny/ngram-k3"].fails_at = {DIES_AT[phase]: died("tiny/ngram-k3", stage)}
    result = run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert cells_of(result) == {"tiny-ngram-k3-gsm8k-bs2", "tiny-ngram-k3-sharegpt-bs2"}
    assert len(failures(result)) == 10 + 7  # every test of the two cells
    for test, line in first_lines(result).items():
        cell = f"tiny/ngram-k3/{'gsm8k' if 'gsm8k' in test else 'sharegpt'}/bs2"
        reason = f"engine tiny/ngram-k3: {stage}: the child was killed by SIGKILL"
        assert line == f"INVALID {cell} measurement; {reason}"
    assert sum(LOG_TAIL in text for text in failures(result).values()) == 1
    assert not engines.running

    result.stdout.fnmatch_lines(["tiny/ngram-k3/gsm8k/bs2 *INVALID", "8 cells: 2 INVALID, 6 *"])
    dead = [v for v in load("results/1/verdicts.json") if v["verdict"] == "INVALID"]
    assert [(v["cell"], v["metric"]) for v in dead] == [
        ("tiny/ngram-k3/gsm8k/bs2", "measurement"),
        ("tiny/ngram-k3/sharegpt/bs2", "measurement"),
    ]
    assert all("SIGKILL" in v["cause"] for v in dead)
    assert load("results/1/run.json")["exit_reason"] == "tests_failed"


@pytest.mark.parametrize("phase", DIES_AT)
def test_a_control_takes_down_all_cells_of_its_target(
    run: Run, engines: FakeEngines, phase: str
) -> None:
    engines["tiny/none"].fails_at = {DIES_AT[phase]: died("tiny/none")}
    result = run()
    assert cells_of(result) == {
        f"tiny-{arm}-{workload}-bs2"
        for arm in ("none", "ngram-k3", "ngram-k2")
        for workload in ("gsm8k", "sharegpt")
    }
    lines = first_lines(result)
    assert lines["test_speedup[tiny-ngram-k2-gsm8k-bs2]"].startswith(
        "INVALID tiny/ngram-k2/gsm8k/bs2 measurement; engine tiny/none: round: the child was"
    )
    assert sum(LOG_TAIL in text for text in failures(result).values()) == 1


def test_cells_that_were_measured_before_keep_their_verdicts(
    run: Run, engines: FakeEngines, load: Load
) -> None:
    engines["tiny/ngram-k3"].fails_at = {6: died("tiny/ngram-k3")}  # in its second cell
    result = run()
    assert cells_of(result) == {"tiny-ngram-k3-sharegpt-bs2"}
    assert len({v["cell"] for v in load("results/1/verdicts.json")}) == 8


def test_an_engine_that_refuses_a_round_goes_on_with_its_other_cells(
    run: Run, engines: FakeEngines
) -> None:
    refusal = "prompt 'gsm8k-0002' has 2000 tokens, max_model_len is 1024: use shorter prompts"
    engines["tiny/ngram-k3"].fails_at = {
        1: EngineError("tiny/ngram-k3", "round", refusal, fatal=False)
    }
    result = run()
    assert cells_of(result) == {"tiny-ngram-k3-gsm8k-bs2"}
    assert len(failures(result)) == 10  # a cell is tried once
    assert all(line.endswith(refusal) for line in first_lines(result).values())


def test_a_dead_engine_makes_no_baseline(run: Run, engines: FakeEngines) -> None:
    engines["tiny/ngram-k3"].fails_at = {0: died("tiny/ngram-k3", "start-up")}
    result = run("--update-baselines", "-k", "tiny-ngram-k3-gsm8k")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert len(failures(result)) == 10


def test_rounds_without_a_request_are_no_measurement(run: Run, engines: FakeEngines) -> None:
    engines["tiny/none"].alter = lambda record: record.model_copy(update={"requests": ()})
    lines = first_lines(run("-k", "tiny-none-sharegpt"))
    assert set(lines.values()) == {
        "INVALID tiny/none/sharegpt/bs2 measurement; tiny/none/sharegpt/bs2: nothing was measured"
    }
