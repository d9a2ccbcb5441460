"""JUnit carries each verdict as ``perf.*`` properties of its test."""

from __future__ import annotations

from pathlib import Path

from fake_engines import FakeEngines, died
from junitparser.xunit2 import JUnitXml
from small_project import Run


def properties(path: Path) -> dict[str, dict[str, str]]:
    """Test name -> its properties."""
    return {
        case.name: {p.name: p.value for p in case.properties()}
        for suite in JUnitXml.fromfile(str(path))
        for case in suite
    }


def test_every_test_says_what_it_judged(run: Run, project: Path, baselined: Path) -> None:
    assert run("--junitxml=junit.xml").ret == 0
    found = properties(project / "junit.xml")
    assert len(found) == 52
    assert all(p["perf.cell"].replace("/", "-") in test for test, p in found.items())
    assert {p["perf.verdict"] for p in found.values()} == {"OK"}
    timed = found["test_speedup[tiny-ngram-k3-gsm8k-bs2]"]
    assert timed["perf.metric"] == "speedup"
    assert float(timed["perf.value"]) > 1
    assert float(timed["perf.baseline"]) > 1
    assert {"perf.ratio", "perf.ci_low", "perf.ci_high", "perf.p"} <= timed.keys()
    assert (timed["perf.n"], timed["perf.limit"]) == ("3", "0.1")


def test_a_dead_cell_has_properties_and_a_complete_first_line(
    run: Run, project: Path, engines: FakeEngines
) -> None:
    engines["tiny/ngram-k3"].fails_at = {0: died("tiny/ngram-k3", "start-up")}
    run("--junitxml=junit.xml", "-k", "tiny-ngram-k3-gsm8k")
    found = properties(project / "junit.xml")
    assert len(found) == 10
    assert {(p["perf.cell"], p["perf.verdict"]) for p in found.values()} == {
        ("tiny/ngram-k3/gsm8k/bs2", "INVALID")
    }
    messages = [
        result.message
        for suite in JUnitXml.fromfile(str(project / "junit.xml"))
        for case in suite
        for result in case.result
    ]
    assert len(messages) == 10
    assert all("INVALID tiny/ngram-k3/gsm8k/bs2 measurement; engine" in m for m in messages)
