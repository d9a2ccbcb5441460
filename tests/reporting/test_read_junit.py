"""JUnit from anywhere: what pytest writes is read; what is hostile becomes one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junit_examples import FACTS, case, failed, junit, skipped, written

import draftgate.reporting.safe_xml
from draftgate.reporting.junit import JUnitError, read_junit
from draftgate.verdict.evidence import Outcome
from draftgate.verdict.kinds import VerdictKind

CELL = "tiny/none/gsm8k/bs2"


def test_facts_and_tests_are_read(tmp_path: Path) -> None:
    red = case(CELL, "speedup", "REGRESSED", failed("REGRESSED x\nmore"))
    evidence = read_junit(written(tmp_path, [case(CELL, "outputs"), red]))
    assert evidence.facts.profile == "small"
    assert evidence.facts.manifest == FACTS["manifest"]
    fine, bad = evidence.tests
    assert (fine.cell, fine.metric, fine.kind) == (CELL, "outputs", VerdictKind.OK)
    assert (fine.outcome, fine.retried) == (Outcome.PASSED, False)
    assert (bad.outcome, bad.message, bad.red) == (Outcome.FAILED, "REGRESSED x", True)


@pytest.mark.parametrize(
    ("inner", "outcome"),
    [
        ("", Outcome.PASSED),
        (skipped("no GPU"), Outcome.SKIPPED),
        ("<error message='fixture'/>", Outcome.ERROR),
        (skipped("first") + failed("then"), Outcome.FAILED),
        ("<system-out>text</system-out>", Outcome.PASSED),
    ],
)
def test_outcomes(tmp_path: Path, inner: str, outcome: Outcome) -> None:
    [test] = read_junit(written(tmp_path, [case(CELL, "outputs", inner=inner)])).tests
    assert test.outcome is outcome


@pytest.mark.parametrize(
    "text",
    [
        case(CELL, "outputs", inner="<rerunFailure message='first try'/>"),
        case(CELL, "outputs", inner="<flakyError message='first try'/>"),
        case(CELL, "outputs").replace(
            "</properties>", "<property name='perf.verdict' value='OK'/></properties>"
        ),
    ],
)
def test_a_retry_is_seen(tmp_path: Path, text: str) -> None:
    [test] = read_junit(written(tmp_path, [text])).tests
    assert test.retried


def test_suites_may_be_nested_or_stand_alone(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    inner = f"<testsuite name='inner'>{case(CELL, 'outputs')}</testsuite>"
    path.write_text(f"<testsuite name='outer'>{inner}{case(CELL, 'speedup')}</testsuite>")
    assert {test.metric for test in read_junit(path).tests} == {"outputs", "speedup"}


LAUGHS = (
    "<?xml version='1.0'?><!DOCTYPE lolz [<!ENTITY l 'lol'>"
    + "".join(f"<!ENTITY l{i} '{f'&l{i - 1 or str()};' * 10}'>" for i in range(1, 10))
    + "]><testsuites><testsuite name='&l9;'/></testsuites>"
)
EXTERNAL = (
    "<?xml version='1.0'?><!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]>"
    "<testsuites><testsuite name='pytest'><testcase name='&e;'/></testsuite></testsuites>"
)
PARAMETER = "<!DOCTYPE x SYSTEM 'http://localhost:9/evil.dtd'><testsuites/>"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not well-formed XML"),
        ("no xml at all", "not well-formed XML"),
        (junit([case(CELL, "outputs")])[:-40], "truncated or damaged"),
        (junit([case(CELL, "outputs")])[:120], "truncated or damaged"),
        ("<html><body/></html>", "Invalid format"),
        (LAUGHS, "document type"),
        (EXTERNAL, "document type"),
        (PARAMETER, "document type"),
        ("<?xml version='1.0' encoding='martian'?><testsuites/>", "XML"),
        (junit([case(CELL, "outputs", "GREEN")]), "'GREEN' is no verdict"),
        (junit([], {**FACTS, "deselected": "-1"}), "perf.deselected '-1' is no count"),
    ],
)
def test_bad_files_are_one_clear_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "junit.xml"
    path.write_text(text)
    with pytest.raises(JUnitError) as caught:
        read_junit(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert said in message
    assert "pytest -m perf --junitxml" in message
    assert "\n" not in message


def test_two_runs_in_one_file_are_refused(tmp_path: Path) -> None:
    first = junit([case(CELL, "outputs")])
    second = junit([case(CELL, "outputs")], {**FACTS, "commit": "c1"})
    path = tmp_path / "junit.xml"
    inner = second[second.index("<testsuite ") : second.rindex("</testsuites>")]
    path.write_text(first.replace("</testsuites>", inner + "</testsuites>"))
    with pytest.raises(JUnitError, match=r"two runs in one file: perf\.commit 'c0', 'c1'"):
        read_junit(path)


WHOLE = junit([case(CELL, "outputs"), case(CELL, "speedup", "REGRESSED", failed("slow"))])


@given(st.integers(0, len(WHOLE) - 1))
def test_a_file_cut_anywhere_is_refused(tmp_path_factory: pytest.TempPathFactory, end: int) -> None:
    path = tmp_path_factory.getbasetemp() / "cut.xml"
    path.write_text(WHOLE[:end])
    with pytest.raises(JUnitError):
        read_junit(path)


@pytest.mark.parametrize("kind", ["missing", "folder", "device"])
def test_what_is_no_file_is_said(tmp_path: Path, kind: str) -> None:
    path = {"missing": tmp_path / "no.xml", "folder": tmp_path, "device": Path("/dev/zero")}[kind]
    with pytest.raises(JUnitError, match=r"no such file|not a regular file"):
        read_junit(path)


def test_a_file_beyond_the_bound_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draftgate.reporting.safe_xml, "LARGEST", 2**20)
    path = tmp_path / "junit.xml"
    with path.open("wb") as file:
        file.truncate(2**20 + 1)
    with pytest.raises(JUnitError, match="1 MiB are more than the 1 MiB"):
        read_junit(path)


def test_a_log_of_many_megabytes_is_no_obstacle(tmp_path: Path) -> None:
    log = f"<system-out>{'x' * 12_000_000}</system-out>"  # libxml2 stops at 10 million
    assert len(read_junit(written(tmp_path, [case(CELL, "outputs", inner=log)])).tests) == 1


def test_deep_nesting_does_not_end_the_process(tmp_path: Path) -> None:
    deep = "<a>" * 50_000 + "</a>" * 50_000
    text = junit([case(CELL, "outputs")]).replace("</testcase>", deep + "</testcase>")
    path = tmp_path / "junit.xml"
    path.write_text(text)
    assert len(read_junit(path).tests) == 1


def test_suites_in_suites_without_end_are_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "deep.xml"
    path.write_text("<testsuites>" + "<testsuite>" * 3000 + "</testsuite>" * 3000 + "</testsuites>")
    with pytest.raises(JUnitError, match="suites lie in suites without end"):
        read_junit(path)
