"""``--perf-reference``: another environment's vLLM settles what the baselines cannot."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_engines import FakeEngines, died
from outcome import cells_of, first_lines
from small_project import Run

Load = Callable[[str], Any]

ARM = "tiny/ngram-k3"
ONE_CELL = ("-k", "tiny-ngram-k3-gsm8k")
CELL = f"{ARM}/gsm8k/bs2"
TIMED = ("output_throughput", "speedup")


def kinds(load: Load, run: int) -> dict[str, str]:
    """Metric -> verdict, of the run's one cell."""
    return {v["metric"]: v["verdict"] for v in load(f"results/{run}/verdicts.json")}


@pytest.fixture
def reference(another_python: Path) -> str:
    """The option; its environment is a real one, its engines are fakes."""
    return f"--perf-reference={another_python}"


def test_the_reference_takes_the_place_of_missing_baselines(
    run: Run, engines: FakeEngines, load: Load, another_python: Path, reference: str
) -> None:
    result = run(reference, *ONE_CELL)
    assert result.ret == 0, result.stdout.str()
    assert set(kinds(load, 1).values()) == {"OK"}
    result.stdout.fnmatch_lines([f"reference: vllm * at {another_python}; *in 10 pairs: 2"])
    # Both sides of the arm and of its control are resident together.
    labels = {ARM, "tiny/none", f"reference/{ARM}", "reference/tiny/none"}
    assert sorted(host.label for host in engines) == sorted(labels)
    assert not engines.running


@pytest.mark.parametrize("with_baseline", [False, True])
def test_a_loss_against_the_reference_is_regressed(
    run: Run, engines: FakeEngines, with_baseline: bool, reference: str
) -> None:
    if with_baseline:
        assert run("--update-baselines").ret == 0
    engines[ARM].slower = 1.4
    result = run(reference, *ONE_CELL)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    lines = first_lines(result)
    assert set(lines) == {f"test_{metric}[tiny-ngram-k3-gsm8k-bs2]" for metric in TIMED}
    assert all(line.startswith(f"REGRESSED {CELL}") for line in lines.values())
    assert all("n=10 pairs" in line and "step time +" in line for line in lines.values())


def test_pairs_are_spread_over_starts_in_turn_first_and_second(
    run: Run, engines: FakeEngines, load: Load, project: Path, reference: str
) -> None:
    profile = project / "small.toml"
    plan = "[plan]\nreference_pairs = 16\nreference_starts = 4\n"
    profile.write_text(f"{profile.read_text()}\n{plan}")
    result = run(reference, *ONE_CELL)
    assert result.ret == 0, result.stdout.str()
    result.stdout.fnmatch_lines(["*; *in 16 pairs of 4 starts: 2"])
    started = [host.label.removesuffix(ARM) for host in engines if host.label.endswith(ARM)]
    ours, theirs = "", "reference/"
    assert started[2:] == [ours, theirs, theirs, ours] * 2  # after those that screened
    assert sorted(engines.running) == []
    starts = load("results/1/pairs/tiny-ngram-k3-gsm8k-bs2.json")["starts"]
    assert [len(pairs["output_throughput"]) for pairs in starts] == [4] * 4
    assert load("results/1/run.json")["reference"]["starts"] == 4
    timed = [v for v in load("results/1/verdicts.json") if v["metric"] in TIMED]
    assert {v["n"] for v in timed} == {16}


def test_an_equally_slow_reference_is_a_drift_of_the_baseline(
    run: Run, engines: FakeEngines, load: Load, reference: str
) -> None:
    assert run("--update-baselines").ret == 0
    for label in (ARM, f"reference/{ARM}"):
        engines[label].slower = 1.4
    result = run(reference, *ONE_CELL)
    assert result.ret == 0
    assert {kinds(load, 2)[metric] for metric in TIMED} == {"BASELINE_DRIFT"}
    result.stdout.fnmatch_lines([f"BASELINE_DRIFT {CELL} output_throughput *"])


def test_what_the_baseline_clears_is_not_timed_again(
    run: Run, engines: FakeEngines, baselined: Path, reference: str
) -> None:
    assert run(reference, *ONE_CELL).ret == 0
    rounds = {host.label: len(host.requests) for host in engines.hosts[-4:]}
    assert rounds[f"reference/{ARM}"] == rounds["reference/tiny/none"] == 1  # exact metrics


def test_exact_metrics_that_differ_from_the_reference_fail_where_no_baseline_knows_them(
    run: Run, engines: FakeEngines, reference: str
) -> None:
    engines[f"reference/{ARM}"].accepts = (3, 3, 2)
    lines = first_lines(run(reference, *ONE_CELL))
    line = lines["test_acceptance_length[tiny-ngram-k3-gsm8k-bs2]"]
    assert line.startswith(f"REGRESSED {CELL} acceptance_length ")
    assert line.endswith("against the reference, limit exact)")


def test_exact_metrics_that_moved_on_both_sides_are_a_drift_of_the_baseline(
    run: Run, engines: FakeEngines, load: Load, baselined: Path, reference: str
) -> None:
    for label in (ARM, f"reference/{ARM}"):
        engines[label].accepts = (1, 0, 2)
    result = run(reference, "-k", "tiny-ngram-k3-sharegpt")
    assert result.ret == 0
    assert kinds(load, 2)["acceptance_length"] == "BASELINE_DRIFT"
    result.stdout.fnmatch_lines(["BASELINE_DRIFT * acceptance_length *the reference is where*"])


def test_a_difference_that_the_baseline_knows_is_named_and_passes(
    run: Run, engines: FakeEngines, baselined: Path, reference: str
) -> None:
    engines[f"reference/{ARM}"].accepts = (3, 3, 2)
    result = run(reference, *ONE_CELL)
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"OK {CELL} acceptance_length *on the reference*"])


def test_a_variant_that_runs_on_the_reference_only_is_a_verdict(
    run: Run, engines: FakeEngines, load: Load, reference: str
) -> None:
    engines[ARM].fails_at = {0: died(ARM, "start-up")}
    result = run(reference)
    assert cells_of(result) == {"tiny-ngram-k3-gsm8k-bs2", "tiny-ngram-k3-sharegpt-bs2"}
    for line in first_lines(result).values():
        assert line.startswith(f"REGRESSED {ARM}/")
        assert " runs; runs on the reference (vllm " in line
        assert line.endswith("the child was killed by SIGKILL")
    runs = [v for v in load("results/1/verdicts.json") if v["metric"] == "runs"]
    assert [v["cell"] for v in runs] == [CELL, f"{ARM}/sharegpt/bs2"]


def test_a_variant_that_does_not_run_on_the_reference_is_a_verdict_that_passes(
    run: Run, engines: FakeEngines, load: Load, reference: str
) -> None:
    label = f"reference/{ARM}"
    engines[label].fails_at = {0: died(label, "start-up")}
    result = run(reference)
    assert result.ret == 0
    verdicts = {(v["cell"], v["metric"]): v for v in load("results/1/verdicts.json")}
    said = verdicts[CELL, "runs"]
    assert said["verdict"] == "IMPROVED"
    assert said["cause"].startswith("does not run on the reference (vllm ")
    assert verdicts[CELL, "acceptance_length"]["verdict"] == "UNBASELINED"
    assert verdicts["tiny/none/gsm8k/bs2", "output_throughput"]["verdict"] == "OK"
    result.stdout.fnmatch_lines([f"IMPROVED {CELL} runs; does not run on the reference*"])


def test_a_reference_that_ran_and_then_dies_is_no_word_on_where_it_runs(
    run: Run, engines: FakeEngines, load: Load, reference: str
) -> None:
    engines[f"reference/{ARM}"].fails_at = {3: died(f"reference/{ARM}")}
    lines = first_lines(run(reference, *ONE_CELL))
    assert {f"test_{metric}[tiny-ngram-k3-gsm8k-bs2]" for metric in TIMED} <= set(lines)
    assert all(line.startswith(f"INVALID {CELL} ") for line in lines.values())
    assert all("on vllm " in line and "killed by SIGKILL" in line for line in lines.values())
    assert "runs" not in kinds(load, 1)


def test_starts_that_were_finished_have_their_say(
    run: Run, engines: FakeEngines, load: Load, project: Path, reference: str
) -> None:
    """Of four starts the third and its second try fail."""
    dies_in_its_third_start_of_pairs(f"reference/{ARM}", engines, project)
    lines = first_lines(run(reference, *ONE_CELL))
    line = lines["test_output_throughput[tiny-ngram-k3-gsm8k-bs2]"]
    assert line.startswith(f"REGRESSED {CELL}")
    assert "n=8 pairs of 2 starts" in line


def test_an_engine_under_test_that_dies_in_a_later_start_is_not_excused(
    run: Run, engines: FakeEngines, load: Load, project: Path, reference: str
) -> None:
    dies_in_its_third_start_of_pairs(ARM, engines, project)
    lines = first_lines(run(reference, *ONE_CELL))
    assert "SIGKILL" in lines["test_output_throughput[tiny-ngram-k3-gsm8k-bs2]"]


def dies_in_its_third_start_of_pairs(label: str, engines: FakeEngines, project: Path) -> None:
    """A slower arm, so that pairs of four starts are wanted."""
    plan = "[plan]\nreference_pairs = 16\nreference_starts = 4\n"
    (project / "small.toml").write_text(f"{(project / 'small.toml').read_text()}\n{plan}")
    engines[ARM].slower = 1.4
    fates = iter([None] * 3 + [died(label, "start-up")] * 99)  # the screening's start, two of pairs
    engines[label].fails_at = FatesAtStart(fates)


class FatesAtStart(dict[int, BaseException]):
    """In place of ``fails_at``: what each start-up meets, in turn."""

    def __init__(self, fates: Iterator[BaseException | None]) -> None:
        self._fates = fates

    def get(self, number: int, default: Any = None) -> Any:
        return next(self._fates) if number == 0 else default


def dearer_verification(record: Any) -> Any:
    """Verification takes half as long again, and with it the step."""
    if record.stages is None:
        return record
    more = [0.5 * ms for ms in record.stages.verify_ms]
    longer = {
        name: tuple(a + b for a, b in zip(getattr(record.stages, name), more, strict=True))
        for name in ("verify_ms", "step_ms")
    }
    stages = record.stages.model_copy(update=longer)
    return record.model_copy(update={"stages": stages, "wall_s": record.wall_s + sum(more) / 1000})


@pytest.fixture
def staged(project: Path) -> None:
    """The profile times the stages and limits verification's share."""
    profile = project / "small.toml"
    text = profile.read_text().replace("[limits]", "[limits]\nverify_share = 0.1")
    profile.write_text(f"{text}\n[plan]\nstages = true\n")


@pytest.mark.usefixtures("staged")
@pytest.mark.parametrize(("theirs_too", "kind"), [(False, "REGRESSED"), (True, "BASELINE_DRIFT")])
def test_a_stages_share_is_settled_by_the_references_stages(
    run: Run, engines: FakeEngines, load: Load, reference: str, theirs_too: bool, kind: str
) -> None:
    assert run("--update-baselines").ret == 0
    for label in (ARM, f"reference/{ARM}")[: 1 + theirs_too]:
        engines[label].alter = dearer_verification
    result = run(reference, *ONE_CELL)
    assert kinds(load, 2)["verify_share"] == kind
    assert result.ret == (0 if theirs_too else 1)


@pytest.mark.usefixtures("staged")
def test_both_engines_are_warm_before_their_stages_are_compared(
    run: Run, engines: FakeEngines, reference: str
) -> None:
    run(reference, "-k", "tiny-ngram-k3-gsm8k and verify_share")
    (theirs,) = [host for host in engines if host.label == f"reference/{ARM}"]
    staged = [request.stages for request in theirs.requests]
    assert staged.index(True) > 0
    assert staged.count(True) == 2


@pytest.mark.usefixtures("staged")
def test_a_stages_share_without_baseline_is_judged_beside_the_reference(
    run: Run, engines: FakeEngines, load: Load, reference: str
) -> None:
    assert run(reference, *ONE_CELL).ret == 0
    assert kinds(load, 1)["verify_share"] == "OK"


def test_a_variant_that_runs_nowhere_is_invalid(
    run: Run, engines: FakeEngines, reference: str
) -> None:
    for label in (ARM, f"reference/{ARM}"):
        engines[label].fails_at = {0: died(label, "start-up")}
    lines = first_lines(run(reference, *ONE_CELL))
    assert all(line.startswith(f"INVALID {CELL} runs; ") for line in lines.values())
    assert all("does not run on the reference" in line for line in lines.values())


def test_an_engine_under_test_that_dies_beside_the_reference_is_not_blamed_on_it(
    run: Run, engines: FakeEngines, reference: str
) -> None:
    engines[ARM].fails_at = {9: died(ARM)}  # its rounds before are warm-up and the cell's own
    lines = first_lines(run(reference, *ONE_CELL))
    assert lines
    assert all(line.startswith(f"REGRESSED {CELL} runs; ") for line in lines.values())


def test_a_reference_that_breaks_an_identity_is_no_judge(
    run: Run, engines: FakeEngines, reference: str
) -> None:
    engines[f"reference/{ARM}"].alter = lambda record: record.model_copy(
        update={"steps": 0}  # fewer than the outputs need
    )
    lines = first_lines(run(reference, *ONE_CELL))
    assert lines["test_output_throughput[tiny-ngram-k3-gsm8k-bs2]"].startswith(
        f"INVALID {CELL} output_throughput; {CELL}: pairs: reference: identity "
    )
    assert lines["test_acceptance_length[tiny-ngram-k3-gsm8k-bs2]"].startswith(
        f"INVALID {CELL} acceptance_length; on vllm "
    )


def test_the_results_hold_both_sides(
    run: Run, engines: FakeEngines, load: Load, another_python: Path, reference: str
) -> None:
    assert run(reference, *ONE_CELL).ret == 0
    facts = load("results/1/run.json")["reference"]
    assert facts["executable"] == str(another_python)
    assert "torch" in facts
    name = "tiny-ngram-k3-gsm8k-bs2.json"
    for folder in ("cells", "reference/cells"):
        assert load(f"results/1/{folder}/{name}")["draftgate"]["provenance"]["vllm"]
    (pairs,) = load(f"results/1/pairs/{name}")["starts"]
    assert {len(values) for values in pairs.values()} == {10}
    assert all(len(pair) == 2 for pair in pairs["output_throughput"])


def test_the_environment_under_test_is_no_reference(run: Run, engines: FakeEngines) -> None:
    result = run(f"--perf-reference={sys.executable}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --perf-reference *: runs the vLLM under test (*"])
    assert not engines.hosts


def test_an_environment_that_borrows_the_vllm_under_test_is_no_reference(
    run: Run, engines: FakeEngines, borrowing_python: Path
) -> None:
    """Another prefix, the same code: every loss would be on both sides."""
    result = run(f"--perf-reference={borrowing_python}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --perf-reference *: runs the vLLM under test (*"])


def test_a_vllm_that_the_path_brings_along_is_no_reference(
    run: Run, engines: FakeEngines, reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", sysconfig.get_path("purelib"))
    result = run(reference)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --perf-reference *mind PYTHONPATH*"])


@pytest.mark.parametrize(
    ("python", "problem"),
    [
        ("nowhere/python", "No such file or directory; name a Python interpreter"),
        (".", "is a folder: name its interpreter"),
        ("/bin/ls", "not a Python of 3.10 or later"),
    ],
)
def test_an_unusable_python_is_a_usage_error(
    run: Run, engines: FakeEngines, project: Path, python: str, problem: str
) -> None:
    result = run(f"--perf-reference={python}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --perf-reference *{problem}*"])
    assert not engines.hosts
    assert not (project / "results").exists()
