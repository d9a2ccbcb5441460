"""``--perf-fault``: a fault planted on purpose is loud everywhere and makes no baseline."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_engines import FakeEngines
from junitparser.xunit2 import JUnitXml
from outcome import cells_of, first_lines
from small_project import Run

Load = Callable[[str], Any]


def test_the_fault_reaches_the_engines_with_speculative_decoding(
    run: Run, engines: FakeEngines
) -> None:
    assert run("--perf-fault=sleep:0.2", "-k", "sharegpt").ret == 0
    faults = {host.label: host.fault for host in engines}
    assert {label for label, fault in faults.items() if fault} == {
        *("tiny/ngram-k3", "tiny/ngram-k2", "other/ngram-k3")
    }
    assert all((f.kind, f.size) == ("sleep", 0.2) for f in faults.values() if f)


def test_a_pattern_says_where(run: Run, engines: FakeEngines, load: Load) -> None:
    assert run("--perf-fault=sleep@tiny/none", "-k", "sharegpt").ret == 0
    assert [host.label for host in engines if host.fault] == ["tiny/none"]
    assert load("results/1/run.json")["fault"] == {
        **{"planted": "sleep@tiny/none", "kind": "sleep", "size": 0.1},
        "scenarios": ["tiny/none"],
    }


def test_the_reference_stays_sound(run: Run, engines: FakeEngines) -> None:
    run("--perf-fault=k:2@*", f"--perf-reference={sys.executable}", "-k", "tiny-ngram-k3-gsm8k")
    assert [host.label for host in engines if host.fault] == ["tiny/ngram-k3"]


def test_it_is_said_first_last_and_in_every_file(
    run: Run, engines: FakeEngines, load: Load, project: Path
) -> None:
    result = run("--perf-fault=drafter-twice", "-k", "tiny-ngram-k3", "--junitxml=junit.xml")
    notice = "A FAULT IS PLANTED (--perf-fault drafter-twice): this run tests the gate*"
    result.stdout.fnmatch_lines([notice, "*draftgate: profile small*", notice])
    assert load("results/1/run.json")["fault"]["planted"] == "drafter-twice"
    for suite in JUnitXml.fromfile(str(project / "junit.xml")):
        for case in suite:
            assert ("perf.fault", "drafter-twice") in {(p.name, p.value) for p in case.properties()}


def test_without_one_nothing_is_said(run: Run, engines: FakeEngines, load: Load) -> None:
    assert "FAULT" not in run("-k", "other-none").stdout.str()
    assert "fault" not in load("results/1/run.json")


def test_baselines_are_refused(run: Run, engines: FakeEngines, project: Path) -> None:
    result = run("--perf-fault=sleep", "--update-baselines")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --perf-fault plants a fault, so --update-baselines *"])
    assert not engines.hosts
    assert not (project / "baselines").exists()


def test_dropped_cells_vanish_without_a_word(run: Run, engines: FakeEngines, load: Load) -> None:
    assert run().ret == 0
    result = run("--perf-fault=drop-cells:2")
    assert result.ret == 0
    assert "deselected" not in result.stdout.str()
    whole, part = (load(f"results/{n}/run.json")["cells"] for n in (1, 2))
    assert len(whole) - len(part) == 2


def test_an_early_stop_turns_the_cells_red(run: Run, engines: FakeEngines, baselined: Path) -> None:
    """The fake engines do what the real ones are told to."""
    engines["tiny/ngram-k3"].alter = lambda record: record.model_copy(
        update={"requests": tuple(_cut(request) for request in record.requests)}
    )
    result = run("--perf-fault=early-stop@tiny/ngram-k3")
    assert cells_of(result) == {"tiny-ngram-k3-gsm8k-bs2", "tiny-ngram-k3-sharegpt-bs2"}
    assert any("outputs_equal_control" in line for line in first_lines(result).values())


def _cut(request: Any) -> Any:
    half = len(request.output_token_ids) // 2
    return request.model_copy(update={"output_token_ids": request.output_token_ids[:half]})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("slow", "'slow' is none of sleep, drafter-twice, k, noisy-head, early-stop, drop-cells"),
        ("sleep:much", "'sleep:much': could not convert string to float*"),
        ("sleep:0", "'sleep:0': Input should be greater than 0"),
        ("sleep:nan", "'sleep:nan': Input should be*"),
        ("k:1", "'k:1': k takes a factor other than 1, such as 0.5 or 2"),
        ("early-stop:1", "'early-stop:1': early-stop takes the share to cut, below 1"),
        ("drop-cells:0.5", "'drop-cells:0.5': drop-cells takes a number of cells"),
    ],
)
def test_a_fault_that_cannot_be_planted_is_a_usage_error(
    run: Run, engines: FakeEngines, text: str, problem: str
) -> None:
    result = run(f"--perf-fault={text}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--perf-fault: {problem}"])
    assert not engines.hosts


def test_its_numbers_stay_out_of_the_history(run: Run, project: Path) -> None:
    result = run("--perf-fault=sleep", "--perf-history=history.jsonl")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*do not belong in --perf-history*"])
    assert not (project / "history.jsonl").exists()
