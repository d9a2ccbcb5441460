import json
import multiprocessing
import os

import pytest
from baseline_examples import BOX, CELL, COUNTS, HASH, ISA, OTHER, SCENARIO, exact, request, timed
from hypothesis import given
from hypothesis import strategies as st

from draftgate.baseline.candidate import Candidate
from draftgate.baseline.errors import BaselineError
from draftgate.baseline.schema import significant
from draftgate.baseline.store import BaselineStore

EXACT_FILE = f"portable/{ISA}/{SCENARIO}.json"
TIMED_FILE = f"{BOX}/{SCENARIO}.json"


@pytest.fixture
def store(tmp_path):
    return BaselineStore(tmp_path / "baselines")


def test_an_empty_store_has_nothing(store):
    assert store.exact(CELL, ISA) is None
    assert store.timed(CELL, BOX) is None


def test_exact_metrics_come_back_in_full(store):
    store.update([exact()], request())
    found = store.exact(CELL, ISA)
    assert found.workload_hash == HASH
    assert found.metrics.model_dump() == COUNTS.model_dump()
    assert store.exact(CELL, "x86-avx512-fp32") is None
    assert store.exact(OTHER, ISA) is None


def test_what_holds_on_all_isa_classes_is_found_from_each(store):
    shared = exact()
    store.update([Candidate(CELL, "all", shared.baseline)], request())
    assert store.exact(CELL, ISA) == shared.baseline
    store.update([exact(decode_steps=701)], request())
    assert store.exact(CELL, ISA).metrics.decode_steps == 701


def test_a_series_neither_sees_nor_touches_what_lies_beside_it(store):
    store.update([exact(), timed()], request())
    before = {path: path.read_bytes() for path in store.root.rglob("*.json")}
    other = BaselineStore(store.root, "full")
    assert other.exact(CELL, ISA) is None
    assert other.timed(CELL, BOX) is None
    other.update([exact(decode_steps=701), timed()], request())
    assert other.exact(CELL, ISA).metrics.decode_steps == 701
    assert other.timed(CELL, BOX) == store.timed(CELL, BOX)
    assert all(path.read_bytes() == held for path, held in before.items())
    assert (store.root / f"portable/{ISA}+full/{SCENARIO}.json").exists()
    assert (store.root / f"{BOX}+full/{SCENARIO}.json").exists()


def test_timed_samples_come_back_in_four_digits(store):
    store.update([timed()], request())
    metric = store.timed(CELL, BOX).metrics["output_throughput"]
    assert metric.samples == ((100.0, 101.2, 99.0),)
    assert (metric.median, metric.n) == (100.0, 1)


def test_the_text_diffs_well(store):
    store.update([timed(), exact()], request())
    text = (store.root / TIMED_FILE).read_text()
    assert text.endswith("}\n")
    assert (
        '        "output_throughput": '
        '{"median": 100.0, "n": 1, "samples": [[100.0, 101.2, 99.0]]},\n' in text
    )
    assert '"accepted_per_position": [600, 400, 234],\n' in (store.root / EXACT_FILE).read_text()
    keys = list(json.loads(text))
    assert keys == sorted(keys)
    assert "note" not in text


def test_an_update_leaves_other_cells_alone(store):
    store.update([timed(), timed(OTHER)], request())
    path = store.root / TIMED_FILE
    lines = path.read_text().splitlines()
    store.update([timed(OTHER, factor=1.3)], request())
    fresh = path.read_text().splitlines()
    changed = [i for i, (old, new) in enumerate(zip(lines, fresh, strict=True)) if old != new]
    cell = next(i for i, line in enumerate(lines) if '"gsm8k/bs8"' in line)
    assert len(changed) == 2
    assert max(changed) < cell


def test_writing_the_same_again_gives_the_same_bytes(store):
    store.update([timed(), exact()], request())
    before = {path: path.read_bytes() for path in store.root.rglob("*.json")}
    store.update([exact(), timed()], request())
    assert {path: path.read_bytes() for path in store.root.rglob("*.json")} == before
    assert len(before) == 2


def test_hand_written_notes_and_limits_survive(store):
    store.update([timed(), exact()], request())
    for name, extra in [
        (TIMED_FILE, {"note": "läuft: 2 cores", "limits": {"speedup": 0.07}}),
        (EXACT_FILE, {"note": "see issue 12"}),
    ]:
        path = store.root / name
        data = json.loads(path.read_text())
        data["cells"]["gsm8k/bs8"].update(extra)
        path.write_text(json.dumps(data))
    store.update([timed(factor=1.3), exact(decode_steps=699)], request())
    kept = store.timed(CELL, BOX)
    assert (kept.note, kept.limits) == ("läuft: 2 cores", {"speedup": 0.07})
    assert kept.metrics["output_throughput"].median == 130.0
    assert store.exact(CELL, ISA).note == "see issue 12"
    assert "läuft" in (store.root / TIMED_FILE).read_text()


@given(st.floats(1e-6, 1e9))
def test_four_digits_are_close_enough_and_stable(value):
    rounded = significant(value)
    assert rounded == pytest.approx(value, rel=5.1e-4)
    assert significant(rounded) == rounded


def corrupted(store, name, change):
    path = store.root / name
    text = path.read_text()
    path.write_text(change(text))
    assert path.read_text() != text
    return path


DAMAGE = [
    ("conflict", lambda t: "<<<<<<< HEAD\n" + t, "merge conflict in line 1"),
    ("conflict", lambda t: t.replace("{\n", "{\n=======\n", 1), "merge conflict in line 2"),
    ("cut", lambda t: t[:-20], "not readable as JSON"),
    ("deep", lambda t: "[" * 200_000, "not readable as JSON"),
    ("list", lambda t: "[]", "not a JSON object"),
    (
        "newer",
        lambda t: t.replace('"schema_version": 1', '"schema_version": 2'),
        "key schema_version: 2 is newer than this draftgate reads (up to 1); upgrade draftgate",
    ),
    (
        "version",
        lambda t: t.replace('"schema_version": 1', '"schema_version": "1"'),
        "key schema_version: '1' is not a version",
    ),
    ("moved", lambda t: t.replace("eagle3-k3", "eagle-k3"), "key scenario"),
    ("twice", lambda t: t.replace('"kind"', '"scenario"'), "key 'scenario' stands twice"),
    ("unknown", lambda t: t.replace('"workload_hash"', '"hash"'), "cells.gsm8k/bs8"),
    ("cell", lambda t: t.replace("gsm8k/bs8", "gsm8k/8"), "cells.gsm8k/8"),
]

EXACT_DAMAGE = [
    ("zero", lambda t: t.replace("1900", "0"), "metrics.output_tokens"),
    ("negative", lambda t: t.replace("1234,", "-1,"), "metrics.accepted_tokens"),
    ("string", lambda t: t.replace("1900", '"1900"'), "metrics.output_tokens"),
    ("fraction", lambda t: t.replace("1900", "1900.5"), "metrics.output_tokens"),
    ("nan", lambda t: t.replace("1900", "NaN"), "NaN is no number"),
    ("bool", lambda t: t.replace("1900", "true"), "metrics.output_tokens"),
    ("hash", lambda t: t.replace("cdcd", "xyz"), "metrics.outputs_hash"),
    ("lost", lambda t: t.replace('        "num_drafts": 660,\n', ""), "incomplete"),
]

TIMED_DAMAGE = [
    ("zero", lambda t: t.replace("101.2", "0"), "output_throughput.samples.0.1"),
    ("negative", lambda t: t.replace("101.2", "-1.0"), "output_throughput.samples.0.1"),
    ("string", lambda t: t.replace("101.2", '"101.2"'), "output_throughput.samples.0.1"),
    ("infinity", lambda t: t.replace("101.2", "Infinity"), "Infinity is no number"),
    ("overflow", lambda t: t.replace("101.2", "1e999"), "output_throughput.samples.0.1"),
    ("median", lambda t: t.replace('"median": 100.0', '"median": 111.0'), "median is 111.0"),
    ("n", lambda t: t.replace('"n": 1', '"n": 3'), "n is 3"),
]


@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [
        pytest.param(name, damage, said, id=f"{kind}-{label}")
        for kind, name, cases in [
            ("exact", EXACT_FILE, DAMAGE + EXACT_DAMAGE),
            ("timed", TIMED_FILE, DAMAGE + TIMED_DAMAGE),
        ]
        for label, damage, said in cases
    ],
)
def test_a_damaged_file_gets_one_clear_error_and_is_not_overwritten(store, name, damage, said):
    store.update([timed(), exact()], request())
    path = corrupted(store, name, damage)
    before = path.read_bytes()
    read = store.exact if name == EXACT_FILE else store.timed
    with pytest.raises(BaselineError) as caught:
        read(CELL, ISA if name == EXACT_FILE else BOX)
    message = str(caught.value)
    assert str(path) in message
    assert said in message
    assert "; " in message
    assert "\n" not in message
    decisions = store.update([timed(factor=1.3), exact(decode_steps=699)], request())
    assert sorted(d.action for d in decisions) == ["refused", "written"]
    assert path.read_bytes() == before


@pytest.mark.parametrize("cell_id", ["a/b", "a/b/c/d", "../b/c/bs1", "a/../c/bs1", "a/b/c/bs0", ""])
def test_no_cell_id_leads_out_of_the_folder(store, cell_id):
    with pytest.raises(BaselineError, match="not a cell id"):
        store.exact(cell_id, ISA)


@pytest.mark.parametrize("key", ["..", "a/b", "", "portable", ".git"])
def test_no_key_leads_out_of_the_folder(store, key):
    with pytest.raises(BaselineError, match="folder name"):
        store.timed(CELL, key)


def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BaselineError, match="--baseline-dir"):
        BaselineStore(tmp_path / "file" / "baselines").update([exact()], request())


def test_a_full_disk_refuses_the_cell_and_keeps_the_old_file(store, monkeypatch):
    store.update([exact()], request())
    before = (store.root / EXACT_FILE).read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    [decision] = store.update([exact(decode_steps=699)], request())
    assert decision.action == "refused"
    assert "No space left on device" in decision.reason
    assert (store.root / EXACT_FILE).read_bytes() == before
    assert [p.name for p in (store.root / EXACT_FILE).parent.iterdir()] == ["eagle3-k3.json"]


def write_cells(root, worker):
    for batch_size in range(1, 6):
        cell = f"{SCENARIO}/w{worker}/bs{batch_size}"
        BaselineStore(root).update([exact(cell)], request())


def test_concurrent_writers_lose_no_cell(store):
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=write_cells, args=(store.root, i)) for i in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    cells = json.loads((store.root / EXACT_FILE).read_text())["cells"]
    assert len(cells) == 15
