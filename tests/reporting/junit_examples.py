"""JUnit of perf runs as pytest writes it, whole or spoiled, without running anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from small_profile import SMALL

from draftgate.profile.manifest_hash import manifest_hash
from draftgate.verdict.manifest import manifest_of
from draftgate.verdict.run_gaps import Expected

MANIFEST = manifest_of(SMALL)
EXPECTED = Expected(SMALL.name, manifest_hash(SMALL))
FACTS = {"profile": SMALL.name, "manifest": EXPECTED.manifest, "fingerprint": "box", "commit": "c0"}


def case(
    cell: str, metric: str, verdict: str = "OK", inner: str = "", name: str = "", **more: str
) -> str:
    """A test that judged ``metric``; ``inner``: its result's element."""
    record = {"cell": cell, "metric": metric, "verdict": verdict, "value": "1.5", **more}
    name = name or f"test_{metric}[{cell.replace('/', '-')}]"
    text = properties({k: v for k, v in record.items() if v})
    return (
        f"<testcase classname='perf_tests.test_x' name={quoteattr(name)}>{text}{inner}</testcase>"
    )


def failed(message: str) -> str:
    return f"<failure message={quoteattr('Failed: ' + message)}>{escape(message)}</failure>"


def skipped(message: str = "") -> str:
    return f"<skipped type='pytest.skip' message={quoteattr(message)}>here</skipped>"


def properties(pairs: Mapping[str, str]) -> str:
    inner = "".join(
        f"<property name={quoteattr('perf.' + name)} value={quoteattr(value)} />"
        for name, value in pairs.items()
    )
    return f"<properties>{inner}</properties>"


def green(cells: Iterable[str] = MANIFEST) -> list[str]:
    """A test for everything that the manifest wants."""
    return [case(cell, metric) for cell in cells for metric in sorted(MANIFEST[cell])]


def junit(cases: Sequence[str], facts: Mapping[str, str] = FACTS) -> str:
    return (
        "<?xml version='1.0' encoding='utf-8'?><testsuites name='pytest tests'>"
        f"<testsuite name='pytest' tests='{len(cases)}'>{properties(facts) if facts else ''}"
        f"{''.join(cases)}</testsuite></testsuites>"
    )


def written(folder: Path, cases: Sequence[str], facts: Mapping[str, str] = FACTS) -> Path:
    path = folder / "junit.xml"
    path.write_text(junit(cases, facts), encoding="utf-8")
    return path
