"""Verdicts that say how sure a timed metric is, each through a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_engines import FakeEngines
from outcome import failures, first_lines
from small_project import PROFILE, Run

ARM = "tiny-ngram-k3-gsm8k-bs2"
CELL = "tiny/ngram-k3/gsm8k/bs2"


def planned(project: Path, **plan: float) -> None:
    """Set keys of the profile's plan."""
    lines = "\n".join(f"{key} = {value}" for key, value in plan.items())
    (project / "small.toml").write_text(PROFILE.replace("[limits]", f"[plan]\n{lines}\n\n[limits]"))


def kinds(verdicts: list[dict[str, Any]]) -> dict[str, str]:
    return {v["metric"]: v["verdict"] for v in verdicts if v["cell"] == CELL}


@pytest.fixture
def noisy(run: Run, project: Path) -> Path:
    """Baselines of a profile that reckons with 5 % between process starts. Takes run 1."""
    planned(project, session_sd=0.05, ratio_sd=0.05)
    assert run("--update-baselines").ret == 0
    return project


def test_a_loss_that_may_be_chance_is_a_suspect_listed_not_failed(
    run: Run, engines: FakeEngines, noisy: Path, load: Callable[[str], Any]
) -> None:
    engines["tiny/ngram-k3"].slower = 1.21
    result = run("-k", ARM)
    assert result.ret == 0
    assert kinds(load("results/2/verdicts.json"))["speedup"] == "SUSPECT"
    result.stdout.fnmatch_lines(
        [f"SUSPECT {CELL} speedup *may be chance among 5 comparisons; confirm with*"]
    )


def test_the_same_loss_is_a_regression_where_it_would_be_the_only_comparison(
    run: Run, engines: FakeEngines, noisy: Path
) -> None:
    """The manifest counts, not what `-k` selects: a profile of fewer cells is another manifest."""
    profile = (noisy / "small.toml").read_text()
    (noisy / "small.toml").write_text(profile.replace("output_throughput = 0.15\n", ""))
    engines["tiny/ngram-k3"].slower = 1.21
    assert set(failures(run("-k", ARM))) == {f"test_speedup[{ARM}]"}


def test_noise_that_hides_a_loss_is_unstable_and_listed(
    run: Run, engines: FakeEngines, noisy: Path, load: Callable[[str], Any]
) -> None:
    engines["tiny/ngram-k3"].slower = 1.12
    result = run("-k", ARM)
    assert result.ret == 0
    assert kinds(load("results/2/verdicts.json"))["speedup"] == "UNSTABLE"
    result.stdout.fnmatch_lines([f"UNSTABLE {CELL} speedup *"])


def test_two_rounds_are_underpowered_and_listed(
    run: Run, project: Path, baselined: Path, load: Callable[[str], Any]
) -> None:
    planned(project, rounds=2)
    result = run("-k", ARM)
    assert result.ret == 0
    found = kinds(load("results/2/verdicts.json"))
    assert found["output_throughput"] == found["speedup"] == "UNDERPOWERED"
    result.stdout.fnmatch_lines([f"UNDERPOWERED {CELL} speedup *fewer than 3 rounds*"])


def test_outputs_of_another_length_make_timed_baselines_stale(
    run: Run, engines: FakeEngines, baselined: Path
) -> None:
    def truncated(record: Any) -> Any:
        first, *others = record.requests
        cut = first.model_copy(
            update={
                "output_token_ids": first.output_token_ids[:4],
                "emitted": (1, 3),
                "drafted": first.drafted[:1],
                "accepted": (2,),
                "finish_reason": "length",
            }
        )
        return record.model_copy(update={"requests": (cut, *others)})

    def with_counters(record: Any) -> Any:
        record = truncated(record)
        accepted = [count for request in record.requests for count in request.accepted]
        counters = record.counters.model_copy(
            update={
                "drafts": len(accepted),
                "draft_tokens": sum(sum(r.drafted) for r in record.requests),
                "accepted_tokens": sum(accepted),
                "per_position": tuple(sum(count > i for count in accepted) for i in range(3)),
            }
        )
        return record.model_copy(update={"counters": counters})

    engines["tiny/ngram-k3"].alter = with_counters
    lines = first_lines(run("-k", ARM))
    for metric in ("output_throughput", "speedup"):
        line = lines[f"test_{metric}[{ARM}]"]
        assert line.startswith(f"STALE {CELL} {metric}")
        assert "output lengths shifted" in line
    assert lines[f"test_outputs_unchanged[{ARM}]"].startswith("REGRESSED")


def test_what_a_run_could_have_found_is_kept(
    run: Run, baselined: Path, load: Callable[[str], Any]
) -> None:
    run("-k", ARM)
    records = {r["metric"]: r for r in load("results/2/sensitivity.json")}
    assert records.keys() == {"output_throughput", "speedup"}
    for metric, limit in (("output_throughput", 0.15), ("speedup", 0.10)):
        record = records[metric]
        assert record["cell"] == CELL
        assert limit < record["detectable"] < 2 * limit
        assert (record["alpha"], record["power"]) == (pytest.approx(0.01 / 5), 0.8)
