"""Older schemas of baseline files are read through a step a version."""

import json
from pathlib import Path

import pytest
from baseline_examples import CELL, SCENARIO, exact, request

from draftgate.baseline.errors import BaselineError
from draftgate.baseline.migrations import STEPS, migrate
from draftgate.baseline.parse import parse
from draftgate.baseline.schema import SCHEMA_VERSION, ExactFile
from draftgate.baseline.store import BaselineStore

PATH = Path("baselines/x.json")


def tokens_were_renamed(data):
    """An example: version 0 wrote `tokens` where version 1 writes `output_tokens`."""
    for cell in data["cells"].values():
        cell["metrics"]["output_tokens"] = cell["metrics"].pop("tokens")
    return data


EXAMPLE = {0: tokens_were_renamed}


def stored(tmp_path):
    store = BaselineStore(tmp_path)
    store.update([exact()], request())
    [path] = tmp_path.rglob("*.json")
    return path.read_text(), store.exact(CELL, "x86-avx2-fp32")


def test_an_old_file_reads_as_its_current_form(tmp_path):
    text, current = stored(tmp_path)
    old = text.replace('"output_tokens"', '"tokens"')
    old = old.replace('"schema_version": 1', '"schema_version": 0')
    file = parse(old, PATH, ExactFile, SCENARIO, EXAMPLE)
    assert file.cells["gsm8k/bs8"] == current
    assert file.schema_version == SCHEMA_VERSION
    assert parse(text, PATH, ExactFile, SCENARIO, EXAMPLE) == file


def test_without_its_step_an_old_file_is_refused(tmp_path):
    text, _ = stored(tmp_path)
    old = text.replace('"schema_version": 1', '"schema_version": 0')
    with pytest.raises(BaselineError, match="key schema_version: 0 is not a version"):
        parse(old, PATH, ExactFile, SCENARIO)


def test_a_file_that_is_not_what_its_version_says_is_refused(tmp_path):
    text, _ = stored(tmp_path)
    old = text.replace('"schema_version": 1', '"schema_version": 0')
    with pytest.raises(BaselineError, match="not what version 0 is"):
        parse(old, PATH, ExactFile, SCENARIO, EXAMPLE)


def test_steps_run_in_order(monkeypatch):
    monkeypatch.setattr("draftgate.baseline.migrations.SCHEMA_VERSION", 3)
    steps = {n: lambda data, n=n: {**data, "seen": [*data["seen"], n]} for n in (0, 1, 2)}
    assert migrate({"schema_version": 0, "seen": []}, PATH, steps)["seen"] == [0, 1, 2]
    assert migrate({"schema_version": 2, "seen": []}, PATH, steps)["seen"] == [2]
    assert migrate({"schema_version": 3, "seen": []}, PATH, steps)["seen"] == []


def test_the_shipped_steps_leave_no_gap():
    assert sorted(STEPS) == list(range(min(STEPS, default=SCHEMA_VERSION), SCHEMA_VERSION))


def test_a_migrated_file_is_rewritten_in_the_current_schema(tmp_path, monkeypatch):
    stored(tmp_path)
    [path] = tmp_path.rglob("*.json")
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "schema_version": 0}))
    monkeypatch.setattr("draftgate.baseline.parse.parse.__defaults__", ({0: lambda d: d},))
    store = BaselineStore(tmp_path)
    store.update([exact(decode_steps=699)], request())
    assert json.loads(path.read_text())["schema_version"] == 1
