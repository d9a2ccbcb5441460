"""Orphans, age, damage: what `--prune-baselines` deletes and `draftgate baselines check` says."""

import json
from datetime import date

import pytest
from baseline_examples import BOX, CELL, ISA, OTHER, PROVENANCE, exact, request, timed

from draftgate.baseline.age import old_places
from draftgate.baseline.anchor import set_anchor
from draftgate.baseline.errors import BaselineError
from draftgate.baseline.listing import diff, listing
from draftgate.baseline.prune import prune
from draftgate.baseline.soundness import Expectation, check
from draftgate.baseline.store import BaselineStore

GONE = "llama-tiny/ngram-k3/gsm8k/bs8"
TODAY = date(2026, 7, 11)


@pytest.fixture
def store(tmp_path):
    store = BaselineStore(tmp_path)
    cells = (CELL, OTHER, GONE)
    store.update([*map(timed, cells), *map(exact, cells)], request())
    return store


def files(store):
    return {str(path.relative_to(store.root)) for path in store.root.rglob("*") if path.is_file()}


def expectation(**changes):
    known = {"cells": {CELL, OTHER, GONE}, "limits": {}, "today": TODAY, "max_age": 90}
    return Expectation(**{**known, **changes})


def test_prune_deletes_orphans_and_files_that_held_nothing_else(store):
    found = prune(store.root, {CELL}, {BOX, ISA})
    assert sorted({orphan.cell for orphan in found}) == [OTHER, GONE]
    assert files(store) == {
        f"{BOX}/llama-tiny/eagle3-k3.json",
        f"portable/{ISA}/llama-tiny/eagle3-k3.json",
    }
    assert store.timed(OTHER, BOX) is None
    assert store.timed(CELL, BOX) is not None


def test_prune_leaves_other_machines_and_anchors(store):
    set_anchor(store.root, "v0.1.0")
    before = files(store)
    assert prune(store.root, {CELL}, {"other-box"}) == []
    prune(store.root, {CELL}, {BOX})
    assert before - files(store) == {f"{BOX}/llama-tiny/ngram-k3.json"}


def test_prune_of_a_damaged_folder_deletes_nothing(store):
    (store.root / BOX / "llama-tiny" / "ngram-k3.json").write_text("{")
    before = files(store)
    with pytest.raises(BaselineError, match="not readable as JSON"):
        prune(store.root, {CELL}, {BOX, ISA})
    assert files(store) == before


def test_prune_without_a_folder_makes_none(tmp_path):
    assert prune(tmp_path / "none", set(), {BOX}) == []
    assert not (tmp_path / "none").exists()


def test_a_sound_folder_has_no_remark(store):
    assert check(store.root, expectation()) == []


def test_check_names_every_damaged_file(store):
    (store.root / BOX / "llama-tiny" / "ngram-k3.json").write_text("<<<<<<< ours\n")
    path = store.root / f"portable/{ISA}/llama-tiny/eagle3-k3.json"
    path.write_text(path.read_text().replace("1900", "NaN"))
    remarks = check(store.root, expectation())
    assert [remark.level for remark in remarks] == ["error", "error"]
    assert {"merge conflict in line 1" in r.text for r in remarks} == {True, False}


def test_check_warns_of_age_orphans_and_strays(store):
    (store.root / "notes.json").write_text("{}")
    (store.root / BOX / "llama-tiny" / ".ngram-k3.json.abc").write_text("half")
    remarks = check(store.root, expectation(cells={CELL, OTHER}, max_age=9))
    assert {remark.level for remark in remarks} == {"warning"}
    said = [remark.text for remark in remarks]
    assert sum("10 days old" in text for text in said) == 2  # timed ones: exact ones do not age
    assert sum("no profile has this cell" in text for text in said) == 2
    assert sum("nothing reads it" in text for text in said) == 1
    assert sum("killed" in text for text in said) == 1


def test_check_reports_creep_since_the_anchor(store):
    set_anchor(store.root, "v0.1.0")
    store.update([timed(factor=0.85)], request(accept_regression="knowingly"))
    limits = {"output_throughput": 0.1}
    [remark] = check(store.root, expectation(limits=limits))
    assert (remark.level, remark.cell) == ("error", CELL)
    assert "output_throughput 100 -> 85 since v0.1.0: lost 15.0 % in small steps" in remark.text


def test_a_date_that_is_none_is_an_error(store):
    path = store.root / f"{BOX}/llama-tiny/ngram-k3.json"
    path.write_text(path.read_text().replace(PROVENANCE.date, "yesterday"))
    [remark] = check(store.root, expectation())
    assert "key provenance.date: 'yesterday'" in remark.text


def test_old_files_of_this_machine_are_found_the_oldest_first(store):
    path = store.root / f"{BOX}/llama-tiny/ngram-k3.json"
    path.write_text(path.read_text().replace(PROVENANCE.date, "2025-01-01"))
    later = date(2026, 12, 1)
    assert [aged.written for aged in old_places(store.root, {BOX}, later)] == [
        "2025-01-01",
        PROVENANCE.date,
    ]
    assert old_places(store.root, {"other"}, later) == []
    assert old_places(store.root / "none", {BOX}, later) == []


def test_the_listing_has_a_line_a_metric(store):
    records = listing(store.root, TODAY)
    by_key = {(r["kind"], r["cell"], r["metric"]): r for r in records}
    timed_one = by_key["timed", CELL, "output_throughput"]
    assert (timed_one["value"], timed_one["n"], timed_one["age_days"]) == (100.0, 1, 10)
    assert by_key["exact", CELL, "acceptance_length"]["value"] == 2.87
    json.dumps(records, allow_nan=False)


def test_the_diff_has_what_changed_and_nothing_else(store, tmp_path_factory):
    other = BaselineStore(tmp_path_factory.mktemp("other"))
    cells = (CELL, OTHER)
    other.update([timed(factor=1.3), timed(OTHER), *map(exact, cells)], request())
    records = diff(store.root, other.root)
    changed = {(r["cell"], r["metric"]): r for r in records if r["change"] == "changed"}
    assert set(changed) == {(CELL, "output_throughput"), (CELL, "step_time_ms")}
    assert changed[CELL, "output_throughput"]["ratio"] == 1.3
    assert {r["cell"] for r in records if r["change"] == "removed"} == {GONE}
    assert diff(store.root, store.root) == []


def test_the_diff_shows_what_no_ratio_does(store, tmp_path_factory):
    """Drafts accepted elsewhere, and a limit that somebody loosened by hand."""
    other = BaselineStore(tmp_path_factory.mktemp("other"))
    moved = exact(accepted_per_position=(600, 399, 235))
    other.update([timed(), timed(OTHER), moved, exact(OTHER)], request())
    path = other.root / f"{BOX}/llama-tiny/eagle3-k3.json"
    data = json.loads(path.read_text())
    data["cells"]["gsm8k/bs8"]["limits"] = {"output_throughput": 0.9}
    path.write_text(json.dumps(data))
    changed = [(r["metric"], r["old"], r["new"]) for r in diff(store.root, other.root)]
    assert ("accepted_per_position[1]", 400, 399) in changed
    assert ("accepted_per_position[2]", 234, 235) in changed
    assert ("limits.output_throughput", None, 0.9) in changed
