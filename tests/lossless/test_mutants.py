"""The machinery of mutants, on a package of its own, and the quick part of the catalogue."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from draftgate.lossless.channels import LawRefuted
from draftgate.lossless.mutants import catalogue
from draftgate.lossless.mutants.catalogue import CATALOGUE, chosen, find
from draftgate.lossless.mutants.edits import edited, replaced, wrapped
from draftgate.lossless.mutants.mutant import ENGINES, MutantError, Outcome, Subset
from draftgate.lossless.mutants.verdicts import channel_of
from draftgate.lossless.samplers import _LOADERS

ROOT = Path(__file__).parents[2]
VICTIM = """
def twice(x):
    return x + x

class Thing:
    @staticmethod
    def half(x):
        return x / 2

    def value(self):
        return twice(1)
"""


@pytest.fixture
def victim(tmp_path, monkeypatch):
    (tmp_path / "victim.py").write_text(VICTIM)
    monkeypatch.syspath_prepend(tmp_path)
    import victim

    yield victim
    del sys.modules["victim"]


def test_edit_takes_the_place_of_the_function_for_its_callers(victim):
    edited("victim:twice", ("x + x", "x + x + 1"))()
    assert victim.twice(1) == victim.Thing().value() == 3
    assert Path(victim.__file__).read_text() == VICTIM


def test_edit_of_a_static_method(victim):
    edited("victim:Thing.half", ("x / 2", "x / 4"))()
    assert victim.Thing.half(8) == victim.Thing().half(8) == 2


def test_edit_of_an_edit(victim):
    edited("victim:twice", ("x + x", "x + x + 1"))()
    edited("victim:twice", ("+ 1", "+ 2"))()
    assert victim.twice(1) == 4


def test_wrap_and_replace(victim):
    wrapped("victim:twice", lambda twice: lambda x: twice(x) * 10)()
    assert victim.Thing().value() == 20
    replaced("victim:twice", lambda: abs)()
    assert victim.Thing().value() == 1


@pytest.mark.parametrize("old", ["x * x", "x"])
def test_code_that_is_not_there_exactly_once_is_an_error(victim, old):
    with pytest.raises(MutantError, match=r"victim:twice contains .* times, not once"):
        edited("victim:twice", (old, "y"))()


@pytest.mark.parametrize("where", ["victim:thrice", "victim:Thing.third", "no_such_module:f"])
def test_place_that_is_not_there_is_an_error(victim, where):
    with pytest.raises(MutantError, match=f"this vLLM has no {where}"):
        edited(where, ("x", "y"))()


def test_builtin_has_no_source(victim):
    victim.twice = len
    with pytest.raises(MutantError, match="no Python source"):
        edited("victim:twice", ("x", "y"))()


def test_channel_of_a_failure():
    acceptance = LawRefuted("steps", "acceptance")
    assert channel_of(acceptance) == "acceptance"
    assert channel_of(AssertionError()) == channel_of(None) == "losslessness"
    assert channel_of(ExceptionGroup("", [acceptance, acceptance])) == "acceptance"
    assert channel_of(ExceptionGroup("", [acceptance, ValueError()])) == "losslessness"


def test_catalogue_is_large_and_every_channel_is_in_it():
    faults = [m for m in CATALOGUE if m.expected_channel is not None]
    assert len({m.id for m in CATALOGUE}) == len(CATALOGUE)
    assert len(faults) >= 45
    assert len(CATALOGUE) - len(faults) >= 5
    channels = {m.expected_channel for m in faults}
    assert channels == {"losslessness", "acceptance", "metric", "time"}
    assert {m.where for m in CATALOGUE if not m.where.startswith("engine/")} <= {
        *_LOADERS,
        ENGINES,
    }
    modules = {path.name for path in (ROOT / "correctness_tests").glob("test_*.py")}
    assert {test for m in CATALOGUE for test in m.tests} <= modules
    assert sorted(test for m in chosen(Subset.MODULES) for test in m.tests) == sorted(modules)


def test_choice_by_subset_and_name():
    assert set(chosen(Subset.QUICK)) < set(chosen(Subset.ALL)) == set(CATALOGUE)
    assert {m.id for m in chosen(Subset.QUICK, only=["v2-block"])} == {
        m.id for m in CATALOGUE if m.id.startswith("v2-block")
    }
    with pytest.raises(MutantError, match="no mutant 'v9'"):
        chosen(Subset.QUICK, only=["v9"])
    with pytest.raises(MutantError, match="no mutant 'v9'"):
        find("v9")


def test_outcome_is_expected_only_by_the_right_channel():
    fault = next(m for m in CATALOGUE if m.expected_channel == "acceptance")
    control = next(m for m in CATALOGUE if m.expected_channel is None)
    assert Outcome(fault, "acceptance", "t", 1.0).as_expected
    assert not Outcome(fault, "losslessness", "t", 1.0).as_expected
    assert not Outcome(fault, None, None, 1.0).as_expected
    assert Outcome(control, None, None, 1.0).as_expected
    assert not Outcome(control, "time", "t", 1.0).as_expected
    assert Outcome(control, None, None, 1.23).record() == {
        "mutant": control.id,
        "kind": "control",
        "expected_channel": None,
        "killed_by": None,
        "test": None,
        "seconds": 1.2,
    }


def run_mutants(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "draftgate.cli.main", "mutants", *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )


def test_list_of_mutants():
    done = run_mutants("--subset", "all", "--list", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert [entry["mutant"] for entry in json.loads(done.stdout)] == [
        m.id for m in catalogue.CATALOGUE
    ]


def test_a_folder_without_tests_is_a_clear_error(tmp_path):
    done = run_mutants("--only", "v1-accept-always", cwd=tmp_path)
    assert done.returncode == 1
    assert "holds no tests: run this in a checkout of draftgate" in done.stderr
    assert done.stdout == ""


def test_fault_of_the_suite_s_engines_is_named_to_its_tests(tmp_path):
    """Only tests of engines run, and what starts engines there finds the mutant's name."""
    (tmp_path / "conftest.py").write_text(
        "from hypothesis import settings; settings.register_profile('mutant')"
    )
    (tmp_path / "test_toy.py").write_text(
        """
import pytest
from draftgate.lossless.mutants.hook import planted

@pytest.mark.engine
def test_engine():
    assert [hook.argument for hook in planted()] != ["suite-drafts-counted-twice"]

def test_sampler():
    raise AssertionError
"""
    )
    names = ("--only", "suite-drafts-counted-twice", "--tests", str(tmp_path))
    logs = ("--logs", str(tmp_path / "logs"), "--format", "json")
    done = run_mutants(*names, *logs)
    assert done.returncode == 2, done.stderr  # an assertion speaks of losslessness
    [record] = json.loads(done.stdout)
    assert record["test"] == "test_toy.py::test_engine"
    done = run_mutants(*names, *logs, "--by-module")
    assert json.loads(done.stdout) == [
        {"module": "test_toy.py", "kills": 1, "only_it_kills": "suite-drafts-counted-twice"}
    ]


def test_quick_subset_is_killed(tmp_path):
    done = run_mutants("--format", "json", "--logs", str(tmp_path))
    records = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert {r["mutant"] for r in records} == {m.id for m in chosen(Subset.QUICK)}
    assert all(r["killed_by"] == r["expected_channel"] for r in records)
