"""What the workflows may do. (Their syntax is actionlint's and the schema's business.)"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ci_project import ROOT

WORKFLOWS = sorted((ROOT / "ci" / "github").glob("*.yml"))
PIPELINE = ROOT / "ci" / "buildkite" / "pipeline.yml"
MAY_WRITE = {
    ("comment.yml", "comment"): {"pull-requests"},
    ("nightly.yml", "history"): {"contents"},
    ("refresh-baselines.yml", "propose"): {"contents", "pull-requests"},
}

Step = dict[str, Any]


def load(path: Path) -> dict[Any, Any]:
    data = yaml.safe_load(path.read_text())
    assert isinstance(data, dict)
    return data


def triggers(workflow: dict[Any, Any]) -> dict[str, Any]:
    on = workflow[True]  # YAML 1.1 reads the key `on` so
    return on if isinstance(on, dict) else dict.fromkeys([on] if isinstance(on, str) else on)


def steps(workflow: dict[Any, Any]) -> Iterator[tuple[str, Step]]:
    for name, job in workflow["jobs"].items():
        for step in job["steps"]:
            yield name, step


def checkouts(workflow: dict[Any, Any]) -> Iterator[tuple[str, Step]]:
    return ((j, s) for j, s in steps(workflow) if s.get("uses", "").startswith("actions/checkout"))


@pytest.fixture(params=WORKFLOWS, ids=lambda path: path.name)
def path(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


@pytest.fixture
def workflow(path: Path) -> dict[Any, Any]:
    return load(path)


def test_all_are_there() -> None:
    assert [path.stem for path in WORKFLOWS] == [
        *("comment", "cpu-gate", "gpu-gate", "nightly", "refresh-baselines", "vllm-gate")
    ]


def test_code_of_a_pull_request_never_meets_a_token_that_writes(workflow: dict[Any, Any]) -> None:
    assert "pull_request_target" not in triggers(workflow)
    if "pull_request" in triggers(workflow):
        assert workflow["permissions"] == {"contents": "read"}
        assert all("permissions" not in job for job in workflow["jobs"].values())


def test_no_secret_is_named(path: Path) -> None:
    assert "secrets." not in path.read_text()
    assert "secrets: inherit" not in path.read_text()


def test_permissions_are_stated_and_the_least(path: Path, workflow: dict[Any, Any]) -> None:
    assert workflow["permissions"] in ({}, {"contents": "read"})
    for name, job in workflow["jobs"].items():
        wrote = {key for key, value in job.get("permissions", {}).items() if value == "write"}
        assert wrote == MAY_WRITE.get((path.name, name), set())


def test_a_job_that_can_write_runs_no_test_and_a_job_that_tests_cannot_write(
    workflow: dict[Any, Any],
) -> None:
    for name, step in steps(workflow):
        job = workflow["jobs"][name]
        if "measure.sh" in step.get("run", "") or "pytest" in step.get("run", "").split():
            assert "write" not in job.get("permissions", {}).values()


def test_the_comment_never_checks_out_the_pull_request() -> None:
    workflow = load(ROOT / "ci" / "github" / "comment.yml")
    assert set(triggers(workflow)) == {"workflow_run"}
    refs = [step["with"]["ref"] for _, step in checkouts(workflow)]
    assert refs == ["${{ github.event.repository.default_branch }}"]
    assert "repository" not in str([step["with"].keys() for _, step in checkouts(workflow)])
    text = (ROOT / "ci" / "github" / "comment.yml").read_text()
    assert not re.search(r"workflow_run\.(head|pull_requests)", text)
    assert not re.search(r"git (fetch|checkout|pull)|gh pr checkout", text)


def test_it_listens_to_the_gates_by_their_names() -> None:
    comment = load(ROOT / "ci" / "github" / "comment.yml")
    names = {load(path)["name"] for path in WORKFLOWS}
    assert set(triggers(comment)["workflow_run"]["workflows"]) <= names


def test_a_token_stays_in_the_checkout_only_where_it_pushes(
    path: Path, workflow: dict[Any, Any]
) -> None:
    for name, step in checkouts(workflow):
        pushes = "contents" in MAY_WRITE.get((path.name, name), set())
        assert step.get("with", {}).get("persist-credentials", True) is pushes


def test_actions_are_pinned(workflow: dict[Any, Any]) -> None:
    for _, step in steps(workflow):
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@(v\d+|[0-9a-f]{40})", step["uses"])


def test_nothing_from_outside_is_pasted_into_a_shell(workflow: dict[Any, Any]) -> None:
    """An expression in `run` is text to the shell: a branch named `$(...)` would be executed."""
    for _, step in steps(workflow):
        assert "${{" not in step.get("run", "")


def test_every_job_ends(workflow: dict[Any, Any]) -> None:
    assert all(job["timeout-minutes"] <= 300 for job in workflow["jobs"].values())


def test_the_gpu_runner_starts_on_a_label_alone() -> None:
    workflow = load(ROOT / "ci" / "github" / "gpu-gate.yml")
    assert triggers(workflow)["pull_request"] == {"types": ["labeled"]}
    job = workflow["jobs"]["measure"]
    assert "github.event.label.name == 'gpu-gate'" in job["if"]
    assert job["environment"] == "gpu"
    assert "self-hosted" in job["runs-on"]


def scripts_named(text: str) -> set[str]:
    return set(re.findall(r"ci/scripts/[\w.]+", text))


@pytest.mark.parametrize("file", [*WORKFLOWS, PIPELINE], ids=lambda path: path.name)
def test_scripts_exist_and_can_be_run(file: Path) -> None:
    named = scripts_named(file.read_text())
    assert named
    for name in named:
        script = ROOT / name
        assert script.is_file()
        assert script.suffix == ".py" or script.stat().st_mode & 0o111


def test_no_script_is_left_over() -> None:
    named = set().union(*(scripts_named(p.read_text()) for p in [*WORKFLOWS, PIPELINE]))
    there = {str(p.relative_to(ROOT)) for p in (ROOT / "ci" / "scripts").iterdir() if p.is_file()}
    assert named == there


def test_buildkite_judges_what_it_measures() -> None:
    steps = {step["label"]: step for step in load(PIPELINE)["steps"]}
    assert len(steps) == 4
    for step in steps.values():
        assert step["timeout_in_minutes"] > 0
        assert "DRAFTGATE_PROFILE" in step["env"]
    for kind in ("CPU", "GPU"):
        measure, judge = steps_of(steps, kind)
        assert measure["env"]["DRAFTGATE_PROFILE"] == judge["env"]["DRAFTGATE_PROFILE"]
        [dependency] = judge["depends_on"]
        assert dependency == {"step": measure["key"], "allow_failure": True}
    assert steps_of(steps, "GPU")[0]["agents"] == {"queue": "gpu"}


def steps_of(steps: dict[str, Step], kind: str) -> tuple[Step, Step]:
    measure, judge = (step for label, step in steps.items() if kind in label)
    return measure, judge
