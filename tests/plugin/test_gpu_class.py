"""A run on a GPU's class of machines, where equal software need not write equal tokens."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from fake_engines import FakeEngines
from outcome import first_lines
from small_project import Run

GPU = "sm90-bf16"
CELL = "tiny-ngram-k3-sharegpt"


@pytest.fixture
def gpu(engines: FakeEngines, project: Path) -> FakeEngines:
    """Engines that say so, and prompts enough to know how acceptance differs between them."""
    profile = project / "small.toml"
    profile.write_text(profile.read_text().replace("prompts = 3", "prompts = 9"))
    for scenario in ("tiny/none", "tiny/ngram-k3"):
        engines[scenario].isa = GPU
    return engines


def drifting() -> Callable[[Any], Any]:
    """Every round's first text ends in another token."""
    numbers = count(1000)

    def alter(record: Any) -> Any:
        first, *others = record.requests
        tokens = (*first.output_token_ids[:-1], next(numbers))
        changed = first.model_copy(update={"output_token_ids": tokens})
        return record.model_copy(update={"requests": (changed, *others)})

    return alter


def test_baselines_keep_counts_by_prompt_and_equal_runs_pass(
    run: Run, gpu: FakeEngines, project: Path, load: Callable[[str], Any]
) -> None:
    assert run("--update-baselines", "-k", CELL).ret == 0
    stored = load(f"baselines/portable/{GPU}/tiny/ngram-k3.json")["cells"]["sharegpt/bs2"]
    assert set(stored["by_prompt"]) == {"acceptance_length", "tokens_per_step"}
    assert run("-k", CELL).ret == 0


def test_lost_acceptance_is_red_and_named(run: Run, gpu: FakeEngines) -> None:
    assert run("--update-baselines", "-k", CELL).ret == 0
    gpu["tiny/ngram-k3"].accepts = (3, 1, 1)
    result = run("-k", CELL)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    (line,) = (line for test, line in first_lines(result).items() if "acceptance_length" in test)
    assert line.startswith("REGRESSED")
    assert "prompts, limit -3 %" in line


def test_rounds_may_differ(run: Run, gpu: FakeEngines, load: Callable[[str], Any]) -> None:
    """On the CPU that would break an identity."""
    gpu["tiny/ngram-k3"].alter = drifting()
    gpu["tiny/ngram-k3"].gap = gpu["tiny/none"].gap = 0.0  # near-ties, says the target
    assert run("--update-baselines", "-k", "tiny-ngram-k3-gsm8k").ret == 0
    said = {r["metric"]: r["verdict"] for r in load("results/1/verdicts.json")}
    assert said["identities"] == "OK"


def test_every_round_must_be_lossless(run: Run, gpu: FakeEngines) -> None:
    """The first one is right; what comes later may be wrong by what an earlier one left."""
    numbers = count()

    def later(record: Any) -> Any:
        if next(numbers) < 3:
            return record
        return drifting()(record)

    gpu["tiny/ngram-k3"].alter = later
    gpu["tiny/ngram-k3"].gap = gpu["tiny/none"].gap = 5.0  # nats: no near-tie
    result = run("-k", "tiny-ngram-k3-gsm8k")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    (line,) = (line for line in first_lines(result).values() if "outputs_equal_control" in line)
    assert line.startswith("REGRESSED")
    assert "1 of" in line
