"""The history file: appended whole, read strictly; and the command over it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from multiprocessing import get_context
from pathlib import Path

import pytest
from report_examples import START, measurement, verdict

from draftgate.cli.main import run as draftgate
from draftgate.reporting.history import Entry, HistoryError, append, entry_of, read, series
from draftgate.reporting.results_folder import ResultsFolder
from draftgate.verdict.kinds import VerdictKind

CELL = "t/v/w/bs2"


def entry(run: int, speed: float = 100.0, **changes: str) -> Entry:
    known = {
        "run": f"2026-07-{1 + run // 24:02}T{run % 24:02}:00",
        "machine": "box",
        "commit": f"commit{run:04}",
        "vllm": "0.32.0",
        "cell": CELL,
        "workload_hash": "ab",
    }
    return Entry(metrics={"output_throughput": speed}, **{**known, **changes})


def test_a_measurement_becomes_a_line(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "history.jsonl"
    assert append(path, [entry_of("2026-07-01", measurement(CELL))]) == 1
    [found] = read(path)
    assert found.identity == ("2026-07-01", "box", CELL)
    assert {"output_throughput", "speedup", "acceptance_length", "tokens_per_step"} <= set(
        found.metrics
    )


def test_a_run_is_added_once(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    assert append(path, [entry(0), entry(1)]) == 2
    before = path.read_bytes()
    assert append(path, [entry(1)]) == 0
    assert path.read_bytes() == before
    assert append(path, [entry(1, machine="other"), entry(1, cell="t/v/w/bs4")]) == 2


def test_half_a_line_of_a_killed_writer_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    append(path, [entry(0), entry(1)])
    path.write_bytes(path.read_bytes()[:-20])
    assert [e.run for e in read(path)] == [entry(0).run]
    append(path, [entry(2)])
    assert [e.run for e in read(path)] == [entry(0).run, entry(2).run]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda line: "<<<<<<< HEAD", "line 2 is no JSON"),
        (lambda line: line.replace("100.0", "NaN"), "line 2: key metrics.output_throughput"),
        (lambda line: line.replace("100.0", "0"), "line 2: key metrics.output_throughput"),
        (lambda line: line.replace("100.0", "-1"), "line 2: key metrics.output_throughput"),
        (lambda line: line.replace('version":1', 'version":2'), "line 2: schema_version 2"),
        (lambda line: line.replace('"cell"', '"zelle"'), "line 2: key "),
        (lambda line: "[]", "line 2: key "),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, change, said: str) -> None:
    path = tmp_path / "history.jsonl"
    append(path, [entry(i) for i in range(3)])
    lines = path.read_text().splitlines()
    lines[1] = change(lines[1])
    path.write_text("\n".join(lines) + "\n")
    for use in (lambda: read(path), lambda: append(path, [entry(9)])):
        with pytest.raises(HistoryError) as caught:
            use()
        assert said in str(caught.value)
        assert str(path) in str(caught.value)


def add_many(path: Path, writer: int) -> None:
    for i in range(10):
        append(path, [entry(i, machine=f"box{writer}")])


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    context = get_context("fork")
    writers = [context.Process(target=add_many, args=(path, i)) for i in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(read(path)) == 30


def test_a_series_keeps_to_one_machine_and_the_newest_prompts() -> None:
    runs = [entry(0, workload_hash="old"), entry(1), entry(2), entry(3, machine="other")]
    found = series(runs)
    assert [e.run for e in found["box", CELL, "output_throughput"]] == [runs[1].run, runs[2].run]
    assert len(found["other", CELL, "output_throughput"]) == 1


def results(
    folder: Path, kinds: Sequence[VerdictKind], started: datetime = START, **facts: object
) -> Path:
    made = ResultsFolder.create(folder)
    made.write_cell(measurement(CELL))
    made.write_verdicts([verdict(CELL, kind) for kind in kinds])
    made.write_run({"started": started.isoformat(), "exit_reason": "ok", **facts})
    return folder


def test_results_are_added_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "history.jsonl"
    good = results(tmp_path / "good", [VerdictKind.OK])
    bad = results(tmp_path / "bad", [VerdictKind.INVALID], START + timedelta(days=1))
    assert draftgate(["history", "add", str(good), str(bad), "--history", str(path)]) == 0
    assert "1 lines added" in capsys.readouterr().err
    assert draftgate(["history", "add", str(tmp_path / "none"), "--history", str(path)]) == 1
    unfinished = ResultsFolder.create(tmp_path / "unfinished")
    assert draftgate(["history", "add", str(unfinished.path), "--history", str(path)]) == 1
    assert "has not finished" in capsys.readouterr().err
    planted = results(tmp_path / "planted", [VerdictKind.OK], fault={"kind": "sleep"})
    assert draftgate(["history", "add", str(planted), "--history", str(path)]) == 1
    assert "a fault was planted" in capsys.readouterr().err


def test_show_names_the_commit_of_a_loss(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "history.jsonl"
    speeds = [100 + i % 3 for i in range(12)] + [90 + i % 3 for i in range(12)]
    append(path, [entry(i, speed) for i, speed in enumerate(speeds)])
    show = ["history", "show", "--history", str(path)]
    assert draftgate([*show, "--format", "json"]) == 0
    [record] = json.loads(capsys.readouterr().out)
    assert (record["change"], record["commit_before"], record["commit"]) == (
        "worse",
        "commit0011",
        "commit0012",
    )
    assert record["ratio"] == pytest.approx(0.9, abs=0.01)
    assert draftgate([*show, "-k", "other-cell"]) == 0
    assert "no change in 0 runs" in capsys.readouterr().out
    assert draftgate(["history", "show", "--history", str(tmp_path / "none")]) == 1
