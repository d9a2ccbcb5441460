"""What is asked of the hub, and what is said when it does not answer. No test touches a network."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from draftgate.profile import WorkloadSpec
from draftgate.workload import WorkloadError, load_workload

RowMaker = Callable[[str, int], list[dict[str, Any]]]

HUB = {
    "instructcoder": ("likaixin/InstructCoder", None, "train"),
    "cnn_dailymail": ("abisee/cnn_dailymail", "3.0.0", "test"),
    "sharegpt": ("anon8231489123/ShareGPT_Vicuna_unfiltered", None, "train"),
    "gsm8k": ("openai/gsm8k", "main", "test"),
    "aime": ("AI-MO/aimo-validation-aime", None, "train"),
    "gpqa": ("Idavidrein/gpqa", "gpqa_main", "train"),
}


def spec_of(name: str, **more: Any) -> WorkloadSpec:
    fixed = {"name": name, "source": "hub", "prompts": 3, "max_tokens": 8}
    return WorkloadSpec.model_validate({**fixed, **more})


@pytest.mark.parametrize("name", HUB)
def test_dataset_config_split_and_revision_are_asked_for(
    name: str, rows_of: RowMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    asked: list[tuple[Any, ...]] = []

    def answer(path: str, config: str | None, **more: Any) -> datasets.Dataset:
        asked.append((path, config, more["split"], more["revision"], more["data_files"]))
        return datasets.Dataset.from_list(rows_of(name, 5))

    monkeypatch.setattr(datasets, "load_dataset", answer)
    frozen = load_workload(spec_of(name, revision="abc123"))
    file = "ShareGPT_V3_unfiltered_cleaned_split.json" if name == "sharegpt" else None
    assert asked == [(*HUB[name], "abc123", file)]
    assert (len(frozen.prompts), frozen.source, frozen.revision) == (3, "hub", "abc123")


def test_hub_and_a_local_copy_freeze_to_the_same_hash(
    tmp_path: Path, rows_of: RowMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    table = datasets.Dataset.from_list(rows_of("gsm8k", 9))
    table.to_json(str(tmp_path / "copy.jsonl"))
    local = load_workload(spec_of("gsm8k", source="file", path=str(tmp_path / "copy.jsonl")))
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: table)
    assert load_workload(spec_of("gsm8k")).workload_hash == local.workload_hash


@pytest.mark.parametrize(
    "error", [ConnectionError("no route"), ValueError(""), OSError("disk full")]
)
def test_any_failure_is_one_clear_error(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(datasets, "load_dataset", fail)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with pytest.raises(WorkloadError, match="openai/gsm8k") as caught:
        load_workload(spec_of("gsm8k", revision="abc123"))
    message = str(caught.value)
    assert type(error).__name__ in message
    for word in ("workload gsm8k", "main", "abc123", "HF_HUB_OFFLINE=1", 'source = "file"'):
        assert word in message


def test_offline_and_gated_are_said(tmp_path: Path) -> None:
    """In a process of its own, because `datasets` reads HF_HUB_OFFLINE when it is imported."""
    code = (
        "from draftgate.profile import WorkloadSpec\n"
        "from draftgate.workload import WorkloadError, load_workload\n"
        "try:\n"
        "    load_workload(WorkloadSpec(name='gpqa', source='hub', prompts=1, max_tokens=1))\n"
        "except WorkloadError as error:\n"
        "    print(error)\n"
    )
    environ = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path)}
    environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    for word in ("Idavidrein/gpqa (gpqa_main)", "HF_HUB_OFFLINE is set", "gated", "HF_TOKEN"):
        assert word in done.stdout
