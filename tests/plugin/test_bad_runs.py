"""Runs that cannot or should not measure: one clear error, nothing started, nothing paid."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fake_engines import FakeEngines
from outcome import cells_of, failures, first_lines
from small_project import PROFILE, Run

HEAVY = (
    *("vllm", "torch", "transformers", "datasets", "numpy", "scipy", "pydantic", "rich"),
    *("draftgate.engine", "draftgate.measure", "draftgate.profile", "draftgate.verdict"),
)


@pytest.mark.parametrize("profile", [PROFILE, "not a profile"])
def test_workers_of_xdist_measure_nothing(
    run: Run, project: Path, engines: FakeEngines, profile: str
) -> None:
    (project / "small.toml").write_text(profile)
    result = run("-n", "1", "-k", "test_identities", "--update-baselines", "--prune-baselines")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*cells share the machine's cores: run perf tests without -n"])
    assert "INTERNALERROR" not in result.stdout.str()
    assert not (project / "results").exists()
    assert not (project / "baselines").exists()
    assert not engines.hosts


def test_a_workload_that_cannot_be_had_fails_its_cells(
    run: Run, project: Path, engines: FakeEngines
) -> None:
    changed = PROFILE.replace(
        'name = "gsm8k", source = "mini"', 'name = "gsm8k", source = "file", path = "no.jsonl"'
    )
    (project / "small.toml").write_text(changed)
    result = run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert cells_of(result) == {f"tiny-{arm}-gsm8k-bs2" for arm in ("none", "ngram-k3", "ngram-k2")}
    line = first_lines(result)["test_speedup[tiny-ngram-k3-gsm8k-bs2]"]
    assert line.endswith("measurement; workload gsm8k: no.jsonl is no file")
    assert sum("remedy" in text for text in failures(result).values()) == 1


def test_a_broken_test_module_starts_nothing(run: Run, project: Path, engines: FakeEngines) -> None:
    (project / "perf_tests" / "test_broken.py").write_text("import nothing_of_that_name\n")
    result = run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert not engines.hosts
    assert not (project / "results").exists()


def test_a_selection_of_nothing_starts_nothing(
    run: Run, project: Path, engines: FakeEngines
) -> None:
    assert run("-k", "nothing_of_that_name").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert not engines.hosts
    assert not (project / "results").exists()


def test_a_run_without_perf_tests_pays_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_mine():\n    pass\n")
    script = (
        "import sys, pytest\n"
        "status = pytest.main(['-q', '-p', 'no:cacheprovider', '-p', 'no:hypothesispytest'])\n"
        f"print('loaded:', sorted(set({HEAVY!r}) & set(sys.modules)))\n"
        "sys.exit(status)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=pytester.path, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "loaded: []" in result.stdout
    assert not (pytester.path / "results").exists()
