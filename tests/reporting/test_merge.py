"""`draftgate merge`: shards of one run, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from draftgate.cli.main import run as draftgate
from draftgate.reporting.merge import MergeError, merge
from draftgate.reporting.results_folder import ResultsError
from draftgate.reporting.run_files import is_finished

FACTS = {
    "profile": "small",
    "manifest": "abcd",
    "fingerprint": {"key": "box", "isa_class": "avx2"},
    "provenance": {"commit": "c0", "vllm": "0.32.0"},
    "engine_starts": 2,
    "engines_ready_s": 4.0,
    "exit_reason": "ok",
}


def part(folder: Path, *cells: str, beside: tuple[str, ...] = (), **facts: Any) -> Path:
    """A results folder that was asked for ``cells`` and measured ``beside`` for them."""
    (folder / "cells").mkdir(parents=True)
    hour = len(list(folder.parent.iterdir()))
    times = {"started": f"2026-07-01T0{hour}:00", "ended": f"2026-07-01T0{hour}:30"}
    told = {**FACTS, **times, "shard": f"{hour}/2", "cells": cells, **facts}
    (folder / "run.json").write_text(json.dumps(told))
    (folder / "verdicts.json").write_text(json.dumps([{"cell": c, "verdict": "OK"} for c in cells]))
    (folder / "more.json").write_text(json.dumps([{"cell": c} for c in cells]))
    (folder / "pairs").mkdir()
    (folder / "pairs" / f"{cells[0].replace('/', '-')}.json").write_text(folder.name)
    for cell in (*cells, *beside):
        (folder / "cells" / f"{cell.replace('/', '-')}.json").write_text(folder.name)
    return folder


@pytest.fixture
def shards(tmp_path: Path) -> tuple[Path, Path]:
    one = part(tmp_path / "in" / "one", "t/none/w/bs1", "t/a/w/bs1")
    two = part(tmp_path / "in" / "two", "t/b/w/bs1", beside=("t/none/w/bs1",))
    return one, two


def test_shards_become_one_run(shards: tuple[Path, Path], tmp_path: Path) -> None:
    merge(shards[::-1], tmp_path / "out")
    facts = json.loads((tmp_path / "out" / "run.json").read_text())
    assert sorted(facts["cells"]) == ["t/a/w/bs1", "t/b/w/bs1", "t/none/w/bs1"]
    assert facts["engine_starts"] == 4
    assert (facts["started"], facts["ended"]) == ("2026-07-01T01:00", "2026-07-01T02:30")
    assert facts["merged"] == ["2/2", "1/2"]
    verdicts = json.loads((tmp_path / "out" / "verdicts.json").read_text())
    assert {verdict["cell"] for verdict in verdicts} == set(facts["cells"])
    more = json.loads((tmp_path / "out" / "more.json").read_text())
    assert {record["cell"] for record in more} == set(facts["cells"])
    files = {path.stem: path.read_text() for path in (tmp_path / "out" / "cells").iterdir()}
    assert {path.name for path in (tmp_path / "out" / "pairs").iterdir()} == {
        "t-none-w-bs1.json",
        "t-b-w-bs1.json",
    }
    assert files == {"t-none-w-bs1": "one", "t-a-w-bs1": "one", "t-b-w-bs1": "two"}


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"profile": "other"}, "of different runs: profile 'other' and 'small'"),
        ({"manifest": "ffff"}, "manifest 'ffff' and 'abcd'"),
        ({"fingerprint": {"key": "gpu"}}, 'fingerprint {"key": "gpu"} and {"key": "box"}'),
        ({"provenance": {"commit": "c1", "vllm": "0.32.0"}}, "provenance"),
        ({"exit_reason": "running"}, "has not finished"),
        ({"cells": ["t/a/w/bs1"]}, "both measured t/a/w/bs1"),
    ],
)
def test_a_mix_is_refused_and_nothing_is_written(
    shards: tuple[Path, Path], tmp_path: Path, facts: dict[str, Any], said: str
) -> None:
    odd = part(tmp_path / "in" / "odd", "t/c/w/bs1", **facts)
    with pytest.raises(MergeError) as caught:
        merge([*shards, odd], tmp_path / "out")
    assert said in str(caught.value)
    assert str(odd) in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("text", ["", "[]", "{", None])
def test_what_is_no_run_is_said(
    shards: tuple[Path, Path], tmp_path: Path, text: str | None
) -> None:
    run = shards[1] / "run.json"
    run.unlink() if text is None else run.write_text(text)
    with pytest.raises(ResultsError, match=r"two/run\.json: "):
        merge(shards, tmp_path / "out")


def test_results_are_never_overwritten(shards: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(MergeError, match="is not empty"):
        merge(shards, shards[0])


def test_one_failing_shard_makes_the_run_fail(shards: tuple[Path, Path], tmp_path: Path) -> None:
    bad = part(tmp_path / "in" / "bad", "t/c/w/bs1", exit_reason="tests_failed")
    assert merge([*shards, bad], tmp_path / "out")["exit_reason"] == "tests_failed"


@pytest.mark.parametrize("others", ["ok", "tests_failed"])
def test_what_one_shard_left_half_done_stays_half_done(tmp_path: Path, others: str) -> None:
    shards = [
        part(tmp_path / "in" / "one", "t/a/w/bs1", exit_reason=others),
        part(tmp_path / "in" / "two", "t/b/w/bs1", exit_reason="interrupted"),
    ]
    assert not is_finished(merge(shards, tmp_path / "out"))


def test_the_command(
    shards: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["merge", *map(str, shards), "-o", str(tmp_path / "out")]
    assert draftgate(words) == 0
    assert draftgate(words) == 1
    assert draftgate(["merge", str(shards[0]), "-o", str(tmp_path / "new")]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "3 cells in" in captured.err
    assert "at least two" in captured.err


@pytest.mark.parametrize("key", ["fault", "reference"])
def test_a_shard_with_a_fault_or_a_reference_is_of_another_run(tmp_path: Path, key: str) -> None:
    one = part(tmp_path / "in" / "one", "t/none/w/bs1")
    two = part(tmp_path / "in" / "two", "t/b/w/bs1", **{key: {"kind": "sleep"}})
    with pytest.raises(MergeError, match=f"different runs: {key}"):
        merge([one, two], tmp_path / "out")
