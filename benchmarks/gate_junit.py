"""`draftgate gate` over a JUnit file of 10,000 test cases: seconds of the whole command.

python benchmarks/gate_junit.py
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import quoteattr

from draftgate.profile import load_profile
from draftgate.profile.manifest_hash import manifest_hash
from draftgate.verdict.manifest import manifest_of

RUNS = 5
CASES = 10_000
WORKLOADS = ("instructcoder", "cnn_dailymail", "sharegpt", "gsm8k", "aime", "gpqa")
RECORD = {"value": "1.871", "baseline": "1.902", "ratio": "0.984", "ci_low": "0.97", "p": "0.2"}


def profile_text() -> str:
    """A profile of so many cells that their tests are 10,000 and a few."""
    named = ", ".join(f'"{name}"' for name in WORKLOADS)
    specs = ", ".join(
        f'{{name = "{name}", source = "mini", prompts = 8, max_tokens = 8}}' for name in WORKLOADS
    )
    config = 'method = "ngram", num_speculative_tokens'
    variants = ", ".join(
        f'{{name = "ngram-k{k}", speculative_config = {{{config} = {k}}}}}' for k in range(1, 9)
    )
    return (
        f'schema_version = 1\nname = "many"\nworkloads = [{specs}]\n'
        f"[[matrix]]\nworkloads = [{named}]\nbatch_sizes = {list(range(1, 23))}\n"
        '[[targets]]\nname = "tiny"\nmodel = "testbed:llama-tiny"\n'
        f'variants = [{{name = "none"}}, {variants}]\n'
    )


def properties(pairs: dict[str, str]) -> str:
    inner = (f"<property name='perf.{k}' value={quoteattr(v)}/>" for k, v in pairs.items())
    return f"<properties>{''.join(inner)}</properties>"


def junit(profile: Path) -> Iterator[str]:
    loaded = load_profile(profile)
    facts = {"profile": loaded.name, "manifest": manifest_hash(loaded), "fingerprint": "box"}
    yield f"<testsuites><testsuite name='pytest'>{properties(facts)}"
    for cell, metrics in manifest_of(loaded).items():
        for metric in metrics:
            record = {"cell": cell, "metric": metric, "verdict": "OK", **RECORD}
            name = f"test_{metric}[{cell.replace('/', '-')}]"
            yield f"<testcase name={quoteattr(name)}>{properties(record)}</testcase>"
    yield "</testsuite></testsuites>"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        profile, report = Path(folder) / "many.toml", Path(folder) / "junit.xml"
        profile.write_text(profile_text())
        report.write_text("".join(junit(profile)))
        cases = report.read_text().count("<testcase")
        assert cases >= CASES, cases
        command = ["-m", "draftgate.cli.main", "gate", str(report), "--profile", str(profile)]
        taken = []
        for _ in range(RUNS):
            start = time.perf_counter()
            done = subprocess.run([sys.executable, *command], capture_output=True, text=True)
            taken.append(time.perf_counter() - start)
            assert done.returncode == 0, done.stdout + done.stderr
        size = report.stat().st_size / 2**20
        print(f"{cases} test cases, {size:.1f} MiB: {statistics.median(taken):.2f} s")
        print(
            f"median of {RUNS}, {min(taken):.2f} to {max(taken):.2f} s; {done.stdout.split('.')[0]}"
        )


if __name__ == "__main__":
    main()
