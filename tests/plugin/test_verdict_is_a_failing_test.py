"""What moved turns its own tests red, and no others; the first line is complete by itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_engines import FakeEngines
from outcome import cells_of, failures, first_lines
from small_project import ISA_FOLDER, PROFILE, Run

ARM = "tiny-ngram-k3-gsm8k-bs2"
CELL = "tiny/ngram-k3/gsm8k/bs2"


def change_baseline(project: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Edit the stored exact metrics of `CELL` by hand."""
    file = project / ISA_FOLDER / "tiny/ngram-k3.json"
    data = json.loads(file.read_text())
    change(data["cells"]["gsm8k/bs2"]["metrics"])
    file.write_text(json.dumps(data))


def last_digit(name: str) -> Callable[[dict[str, Any]], None]:
    def change(metrics: dict[str, Any]) -> None:
        if isinstance(metrics[name], str):
            metrics[name] = metrics[name][:-1] + ("0" if metrics[name][-1] != "0" else "1")
        elif isinstance(metrics[name], list):
            metrics[name][-1] -= 1
        else:
            metrics[name] += 1

    return change


DIGITS = {
    "outputs_hash": {"outputs_unchanged"},
    "output_tokens": {"outputs_unchanged"},
    "decode_tokens": {"tokens_per_step"},
    "decode_steps": {"tokens_per_step"},
    "num_drafts": {"acceptance_length", "per_position_acceptance"},
    "draft_tokens": {"drafted_tokens"},
    "accepted_tokens": {"acceptance_length"},
    "accepted_per_position": {"per_position_acceptance"},
}


@pytest.fixture
def edited(project: Path, run: Run, baselined: Path) -> Callable[..., pytest.RunResult]:
    """Change the cell's baseline, then run all cells of its target's workload."""

    def edit(change: Callable[[dict[str, Any]], None]) -> pytest.RunResult:
        change_baseline(project, change)
        return run("-k", "gsm8k")

    return edit


@pytest.mark.parametrize("name", DIGITS)
def test_one_changed_digit_turns_exactly_the_affected_tests_red(
    edited: Callable[..., pytest.RunResult], name: str
) -> None:
    result = edited(last_digit(name))
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert set(failures(result)) == {f"test_{test}[{ARM}]" for test in DIGITS[name]}
    for line in first_lines(result).values():
        assert re.match(rf"(REGRESSED|IMPLAUSIBLE) {CELL} \w+ .+ -> .+ \(.+, limit exact\)$", line)
        assert name in line


def test_the_line_says_metric_old_new_and_limit(
    edited: Callable[..., pytest.RunResult],
) -> None:
    lines = first_lines(edited(last_digit("decode_steps")))
    [line] = lines.values()
    found = re.fullmatch(
        rf"IMPLAUSIBLE {CELL} tokens_per_step (\S+) -> (\S+) "
        r"\(decode_steps (\d+) -> (\d+), limit exact\)",
        line,
    )
    assert found
    old, new, old_steps, new_steps = map(float, found.groups())
    assert old < new
    assert old_steps == new_steps + 1


def test_a_slower_engine_is_regressed_with_its_cause(
    run: Run, engines: FakeEngines, baselined: Path
) -> None:
    engines["tiny/ngram-k3"].slower = 1.43
    result = run()
    assert set(failures(result)) == {f"test_output_throughput[{ARM}]", f"test_speedup[{ARM}]"}
    for test, line in first_lines(result).items():
        limit = "-10 %" if "speedup" in test else "-15 %"
        assert line.startswith(f"REGRESSED {CELL} ")
        assert "(-30." in line
        assert f"n=3 rounds, limit {limit})" in line
        assert line.endswith("; step time +43.0 %, acceptance unchanged")


def test_within_the_limit_nothing_fails(run: Run, engines: FakeEngines, baselined: Path) -> None:
    engines["tiny/ngram-k3"].slower = 1.05
    assert run("-k", "gsm8k").ret == 0


def test_a_faster_engine_passes_and_proposes_a_refresh(
    run: Run, engines: FakeEngines, baselined: Path
) -> None:
    engines["tiny/ngram-k3"].slower = 0.86
    result = run("-k", "gsm8k")
    assert result.ret == 0
    result.stdout.fnmatch_lines([f"{CELL} *IMPROVED", f"IMPROVED {CELL} output_throughput *"])


def test_lost_acceptance_is_seen_by_acceptance_and_throughput(
    run: Run, engines: FakeEngines, baselined: Path
) -> None:
    engines["tiny/ngram-k3"].accepts = (1, 0, 1)
    lines = first_lines(run("-k", ARM))
    assert set(lines) == {
        f"test_{name}[{ARM}]"
        for name in (
            "output_throughput",
            "speedup",
            "acceptance_length",
            "per_position_acceptance",
            "drafted_tokens",
            "tokens_per_step",
        )
    }
    cause = lines[f"test_output_throughput[{ARM}]"].rpartition("; ")[2]
    assert re.match(r"step time unchanged, tokens per step -\d\d\.\d %", cause)


def unequal(record: Any) -> Any:
    """The second request's output has another token at position 5."""
    first, second, *others = record.requests
    tokens = (*second.output_token_ids[:5], 999, *second.output_token_ids[6:])
    changed = second.model_copy(update={"output_token_ids": tokens})
    return record.model_copy(update={"requests": (first, changed, *others)})


def test_an_unequal_output_names_request_and_token(run: Run, engines: FakeEngines) -> None:
    engines["tiny/ngram-k3"].alter = unequal
    result = run("-k", ARM)
    [(test, line)] = first_lines(result).items()
    assert test == f"test_outputs_equal_control[{ARM}]"
    assert line.startswith(f"REGRESSED {CELL} outputs_equal_control 3 -> 2 identical outputs")
    assert "gsm8k-0001 at token 5: 999 instead of" in line
    assert "5 nats below the likeliest" in line


def test_an_output_that_parts_at_a_near_tie_passes_and_says_so(
    run: Run, engines: FakeEngines, load: Callable[[str], Any]
) -> None:
    engines["tiny/ngram-k3"].alter = unequal
    engines["tiny/none"].gap = 0.0005  # the target's engine is asked; it computes in float32
    result = run("-k", ARM)
    assert result.ret == 0, result.stdout.str()
    [said] = [v for v in load("results/1/verdicts.json") if v["metric"] == "outputs_equal_control"]
    assert (said["verdict"], said["value"], said["baseline"]) == ("OK", 2, 3)
    result.stdout.fnmatch_lines(["OK * outputs_equal_control *1 near-ties of up to 0.0005 nats*"])
    block = load(f"results/1/cells/{ARM}.json")["draftgate"]["outputs_equal_control"]
    assert (block["equal"], block["tolerance"]) == (False, 0.001)
    assert block["differences"][0]["gap"] == 0.0005


def lose_a_count(record: Any) -> Any:
    counters = record.counters.model_copy(update={"drafts": record.counters.drafts + 1})
    return record.model_copy(update={"counters": counters})


def test_a_broken_identity_makes_the_cell_invalid(
    run: Run, engines: FakeEngines, baselined: Path, load: Callable[[str], Any]
) -> None:
    engines["tiny/ngram-k3"].alter = lose_a_count
    result = run("-k", "gsm8k")
    lines = first_lines(result)
    assert cells_of(result) == {ARM}
    assert {line.split()[0] for line in lines.values()} == {"INVALID"}
    line = lines[f"test_identities[{ARM}]"]
    assert line.startswith(f"INVALID {CELL} identities (identity broken: counters_equal_requests: ")
    records = [v for v in load("results/2/verdicts.json") if v["metric"] == "identities"]
    assert {v["cell"]: v["verdict"] for v in records} == {
        "tiny/none/gsm8k/bs2": "OK",
        CELL: "INVALID",
        "tiny/ngram-k2/gsm8k/bs2": "OK",
    }


def test_a_broken_identity_of_the_control_is_told_apart(run: Run, engines: FakeEngines) -> None:
    def unfinished(record: Any) -> Any:
        first, *others = record.requests
        changed = first.model_copy(update={"finish_reason": None})
        return record.model_copy(update={"requests": (changed, *others)})

    engines["tiny/none"].alter = unfinished
    line = first_lines(run("-k", ARM))[f"test_identities[{ARM}]"]
    assert "identity broken: finished: control: round 0: gsm8k-0000: no finish reason" in line


def test_other_prompts_make_a_baseline_stale(run: Run, project: Path, baselined: Path) -> None:
    (project / "small.toml").write_text(PROFILE.replace("prompts = 3", "prompts = 2", 1))
    result = run()
    assert cells_of(result) == {f"tiny-{arm}-gsm8k-bs2" for arm in ("none", "ngram-k3", "ngram-k2")}
    line = first_lines(result)[f"test_tokens_per_step[{ARM}]"]
    assert line.startswith(f"STALE {CELL} tokens_per_step")
    assert "other prompts than the baseline's; refresh with --update-baselines=changed" in line
    assert "give this profile a baseline_series" in line
