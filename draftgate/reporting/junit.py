"""JUnit XML of a perf run -> `Evidence`. The file may come from a pull request: trust nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from junitparser import Error, Failure, JUnitXmlError, Skipped, TestSuite
from junitparser.xunit2 import JUnitXml

from draftgate.reporting.safe_xml import UnsafeXml, parse_xml
from draftgate.verdict.evidence import Evidence, JudgedTest, Outcome, RunFacts
from draftgate.verdict.kinds import VerdictKind

PREFIX = "perf."

OUTCOMES = ((Failure, Outcome.FAILED), (Error, Outcome.ERROR), (Skipped, Outcome.SKIPPED))
"""The worst first."""


class JUnitError(Exception):
    """A report that cannot be read; names the file, what is wrong and the remedy."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            f"{path}: {problem}; give the file of a whole run: pytest -m perf --junitxml={path}"
        )


def read_junit(path: Path) -> Evidence:
    """Read one file. Raises JUnitError: missing, truncated, hostile, or no JUnit."""
    try:
        root = JUnitXml.fromfile(str(path), parse_func=lambda name: parse_xml(Path(name)))
    except (UnsafeXml, JUnitXmlError) as error:
        raise JUnitError(path, str(error)) from None
    except OSError as error:
        raise JUnitError(path, error.strerror or str(error)) from None
    suites = [root] if isinstance(root, TestSuite) else list(root)
    try:
        tests = tuple(_test(case) for suite in suites for case in _cases(suite))
        return Evidence(str(path), _facts(suites), tests)
    except ValueError as error:
        raise JUnitError(path, str(error)) from None
    except RecursionError:
        raise JUnitError(path, "suites lie in suites without end") from None


def _cases(suite: Any) -> Iterator[Any]:
    for child in suite:
        if isinstance(child, TestSuite):
            yield from _cases(child)
        else:
            yield child


def _facts(suites: list[Any]) -> RunFacts:
    """Facts of all suites together; two that differ make the file one of two runs."""
    found: dict[str, str] = {}
    for suite in suites:
        for name, value in _properties(suite):
            if found.setdefault(name, value) != value:
                raise ValueError(f"two runs in one file: {PREFIX}{name} {found[name]!r}, {value!r}")
    return RunFacts(
        profile=found.get("profile", ""),
        manifest=found.get("manifest", ""),
        fingerprint=found.get("fingerprint", ""),
        commit=found.get("commit", ""),
        shard=found.get("shard", ""),
        keyword=found.get("keyword", ""),
        deselected=_count(found.get("deselected", "0")),
        updating=found.get("updating", ""),
    )


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"{PREFIX}deselected {text!r} is no count")
    return int(text)


def _test(case: Any) -> JudgedTest:
    pairs = _properties(case)
    record = dict(pairs)
    outcome, message = _result(case)
    return JudgedTest(
        name=case.name or "unnamed",
        outcome=outcome,
        message=message,
        cell=record.get("cell", ""),
        kind=_kind(record.get("verdict")),
        record=record,
        retried=bool(case.interim_result) or len(record) < len(pairs),
    )


def _properties(element: Any) -> list[tuple[str, str]]:
    """Our properties, in order, without the prefix."""
    return [
        (found.name.removeprefix(PREFIX), found.value or "")
        for found in element.properties()
        if found.name and found.name.startswith(PREFIX)
    ]


def _kind(text: str | None) -> VerdictKind | None:
    if text is None:
        return None
    try:
        return VerdictKind(text)
    except ValueError:
        raise ValueError(f"{text!r} is no verdict that this draftgate knows") from None


def _result(case: Any) -> tuple[Outcome, str]:
    """The worst result of a test: its teardown may fail after its call passed."""
    results = {type(result): result for result in reversed(case.result)}
    for kind, outcome in OUTCOMES:
        if kind in results:
            return outcome, _first_line(results[kind])
    return Outcome.PASSED, ""


def _first_line(result: Any) -> str:
    text = (result.message or result.text or "").strip()
    return text.splitlines()[0].removeprefix("Failed: ") if text else ""
