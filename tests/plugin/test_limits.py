"""``[limits]``: what has one is judged, by a test of its own where every profile does without."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_engines import FakeEngines
from outcome import first_lines
from small_project import PROFILE, Run


@pytest.mark.parametrize("metric", ["mean_ttft_ms", "mean_tpot_ms", "step_time_ms"])
def test_a_limit_on_latency_is_judged(
    run: Run, engines: FakeEngines, project: Path, metric: str
) -> None:
    limited = PROFILE.replace("[limits]\n", f"[limits]\n{metric} = 0.2\n")
    (project / "small.toml").write_text(limited)
    assert run("--update-baselines").ret == 0
    engines["tiny/ngram-k3"].slower = 3.0
    result = run("-k", "tiny-ngram-k3-gsm8k")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    line = first_lines(result)[f"test_{metric.removesuffix('_ms')}[tiny-ngram-k3-gsm8k-bs2]"]
    assert line.startswith(f"REGRESSED tiny/ngram-k3/gsm8k/bs2 {metric} ")


def test_without_a_limit_nothing_is_collected(run: Run) -> None:
    listed = run("--collect-only", "-q").outlines
    assert not [line for line in listed if "test_latency" in line]
