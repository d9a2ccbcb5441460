"""``--update-baselines``: what is written where, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_engines import FakeEngines
from outcome import failures, first_lines
from small_project import ISA_FOLDER, Run

from draftgate.engine.fingerprint import fingerprint

Load = Callable[[str], Any]


def baseline_files(project: Path) -> set[str]:
    root = project / "baselines"
    return {str(path.relative_to(root)) for path in root.rglob("*.json")}


def verdicts(records: list[dict[str, Any]]) -> set[str]:
    return {record["verdict"] for record in records}


def test_exact_baselines_are_portable_and_timed_ones_the_machines(
    run: Run, project: Path, load: Load
) -> None:
    result = run("--update-baselines")
    assert result.ret == 0
    machine = fingerprint().key
    scenarios = ["tiny/none", "tiny/ngram-k3", "tiny/ngram-k2", "other/none", "other/ngram-k3"]
    exact = {f"portable/x86-avx2-fp32/{scenario}.json" for scenario in scenarios}
    timed = {f"{machine}/{scenario}.json" for scenario in scenarios if "tiny" in scenario}
    assert baseline_files(project) == exact | timed
    assert set(load(f"{ISA_FOLDER}/tiny/ngram-k3.json")["cells"]) == {"gsm8k/bs2", "sharegpt/bs2"}
    assert set(load(f"baselines/{machine}/tiny/ngram-k3.json")["cells"]) == {"gsm8k/bs2"}
    result.stdout.fnmatch_lines(["*baselines in baselines: 11 written.*before this update*"])
    assert "--update-baselines=new" not in result.stdout.str()

    again = run()
    assert again.ret == 0
    assert verdicts(load("results/2/verdicts.json")) == {"OK"}
    again.stdout.fnmatch_lines(["8 cells: 8 OK"])


def test_only_cells_that_ran_are_written(run: Run, project: Path) -> None:
    assert run("--update-baselines", "-k", "tiny-ngram-k3-gsm8k").ret == 0
    machine = fingerprint().key
    expected = {"portable/x86-avx2-fp32/tiny/ngram-k3.json", f"{machine}/tiny/ngram-k3.json"}
    assert baseline_files(project) == expected


def test_an_updating_run_does_not_judge_against_what_it_replaces(
    run: Run, engines: FakeEngines, baselined: Path, load: Load
) -> None:
    engines["tiny/ngram-k3"].accepts = (3, 2)  # better: no reason needed
    assert run("--update-baselines", "-k", "tiny-ngram-k3-sharegpt").ret == 0
    assert run("-k", "tiny-ngram-k3-sharegpt").ret == 0
    assert verdicts(load("results/3/verdicts.json")) == {"OK"}


def test_new_leaves_what_there_is(run: Run, engines: FakeEngines, baselined: Path) -> None:
    before = {path: path.read_bytes() for path in baselined.rglob("*.json")}
    engines["tiny/ngram-k3"].accepts = (3, 2)
    result = run("--update-baselines=new", "-k", "tiny-ngram-k3-sharegpt")
    # Better acceptance is excused; fewer drafts are neither better nor worse, and not what stays.
    assert failures(result).keys() == {"test_drafted_tokens[tiny-ngram-k3-sharegpt-bs2]"}
    assert {path: path.read_bytes() for path in baselined.rglob("*.json")} == before


def test_new_excuses_nothing_that_is_worse_than_what_stays(
    run: Run, engines: FakeEngines, baselined: Path
) -> None:
    engines["tiny/ngram-k3"].accepts = (3, 1, 1)
    result = run("--update-baselines=new", "-k", "tiny-ngram-k3-sharegpt")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "test_acceptance_length[tiny-ngram-k3-sharegpt-bs2]" in failures(result)


def unequal(record: Any) -> Any:
    first, *others = record.requests
    wrong = (*first.output_token_ids[:-1], 999)
    return record.model_copy(
        update={"requests": (first.model_copy(update={"output_token_ids": wrong}), *others)}
    )


def test_outputs_that_differ_from_the_controls_make_no_baseline(
    run: Run, engines: FakeEngines, project: Path
) -> None:
    engines["tiny/ngram-k3"].alter = unequal
    only = ("-k", "tiny-ngram-k3-sharegpt and not equal_control")  # so that no test fails
    result = run("--update-baselines", *only)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert not failures(result)
    result.stdout.fnmatch_lines(
        ["baseline not written: tiny/ngram-k3/sharegpt/bs2 (*): its outputs differ from the con*"]
    )
    assert "portable/x86-avx2-fp32/tiny/ngram-k3.json" not in baseline_files(project)
    assert json.loads((project / "results/1/run.json").read_text())["exit_reason"] == (
        "baselines_refused"
    )


def test_outputs_equal_but_for_near_ties_make_a_baseline(
    run: Run, engines: FakeEngines, project: Path
) -> None:
    engines["tiny/ngram-k3"].alter = unequal
    engines["tiny/none"].gap = 0.0005
    assert run("--update-baselines", "-k", "tiny-ngram-k3-sharegpt").ret == 0
    assert "portable/x86-avx2-fp32/tiny/ngram-k3.json" in baseline_files(project)


def test_a_run_with_a_failing_test_writes_nothing(
    run: Run, engines: FakeEngines, project: Path
) -> None:
    engines["tiny/ngram-k3"].alter = unequal
    result = run("--update-baselines")
    assert set(first_lines(result)) == {
        "test_outputs_equal_control[tiny-ngram-k3-gsm8k-bs2]",
        "test_outputs_equal_control[tiny-ngram-k3-sharegpt-bs2]",
    }
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert not baseline_files(project)
    [line] = [x for x in result.outlines if x.startswith("baseline not written")]
    assert line.endswith(" and 8 more: the run has failing tests")


def test_ci_writes_into_an_artifact_folder_only(
    run: Run,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    monkeypatch.setenv("CI", "true")
    only = ("--update-baselines", "-k", "other-none")
    refused = run(*only)
    assert refused.ret == pytest.ExitCode.TESTS_FAILED
    refused.stdout.fnmatch_lines(["*CI does not write baselines*--baseline-dir"])
    assert not baseline_files(project)
    artifacts = tmp_path_factory.mktemp("artifacts")
    assert run(*only, f"--baseline-dir={artifacts}").ret == 0
    assert (artifacts / "portable/x86-avx2-fp32/other/none.json").exists()


def test_noisy_rounds_make_no_timed_baseline(run: Run, engines: FakeEngines, project: Path) -> None:
    walls = iter([1.0, 1.0, 1.0, 2.0, 3.0])

    def noisy(record: Any) -> Any:
        return record.model_copy(update={"wall_s": record.wall_s * next(walls)})

    engines["tiny/none"].alter = noisy
    result = run("--update-baselines", "-k", "tiny-none-gsm8k")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["baseline not written: tiny/none/gsm8k/bs2 (*): too noisy: *"])
    assert baseline_files(project) == {"portable/x86-avx2-fp32/tiny/none.json"}


def test_a_sample_that_is_not_positive_is_told(
    run: Run, engines: FakeEngines, project: Path, load: Load
) -> None:
    profile = project / "small.toml"
    profile.write_text(profile.read_text().replace("[limits]", "[limits]\nmean_ttft_ms = 0.1"))

    def early(record: Any) -> Any:
        requests = tuple(r.model_copy(update={"ttft_s": 0.0}) for r in record.requests)
        return record.model_copy(update={"requests": requests})

    engines["tiny/none"].alter = early
    result = run("--update-baselines", "-k", "tiny-none-gsm8k")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert load("results/1/run.json")["exit_reason"] != "running"


def test_a_folder_that_cannot_be_written_is_one_clear_line(run: Run, project: Path) -> None:
    (project / "baselines").write_text("a file in the way")
    result = run("--update-baselines", "-k", "other-none")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["no baseline was written: baseline baselines: *--baseline-dir"])
    assert "INTERNALERROR" not in result.stdout.str() + result.stderr.str()


def test_a_path_behind_the_bare_option_is_explained(run: Run) -> None:
    result = run("--update-baselines", "perf_tests")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*'perf_tests' is none of new, changed, all; put a bare*"])
