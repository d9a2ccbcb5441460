"""The drift anchor: small losses may not add up to a large one unseen."""

import json

import pytest
from baseline_examples import BOX, CELL, OTHER, request, timed

from draftgate.baseline.anchor import set_anchor
from draftgate.baseline.errors import BaselineError
from draftgate.baseline.store import BaselineStore

STEP = 0.97  # a loss of 3 % a refresh, within the limit of 10 %


@pytest.fixture
def store(tmp_path):
    store = BaselineStore(tmp_path)
    store.update([timed(), timed(OTHER)], request())
    return store


def creep(store, refreshes, **changes):
    """Refreshes of everything in a row, each a little slower than the last; the decisions."""
    return [
        store.update([timed(factor=STEP ** (i + 1))], request(**changes))[0]
        for i in range(refreshes)
    ]


def throughput(store):
    return store.timed(CELL, BOX).metrics["output_throughput"].median


def anchored_path(store):
    return store.root / "anchor" / BOX / "llama-tiny" / "eagle3-k3.json"


def test_without_an_anchor_nothing_stops_slow_creep(store):
    assert {decision.action for decision in creep(store, 6)} == {"written"}
    assert throughput(store) == 83.3


def test_with_an_anchor_the_sum_of_small_losses_is_bounded(store):
    set_anchor(store.root, "v0.1.0")
    decisions = creep(store, 6)
    assert [d.action for d in decisions] == ["written"] * 3 + ["refused"] * 3
    assert throughput(store) == 91.27
    said = "worse since v0.1.0, in small steps: output_throughput 100 -> 88.53"
    assert said in decisions[3].reason


def test_a_reason_lets_it_pass_once_and_the_next_step_needs_one_again(store):
    set_anchor(store.root, "v0.1.0")
    assert {d.action for d in creep(store, 5, accept_regression="new sampler")} == {"written"}
    [decision] = store.update([timed(factor=STEP**6)], request())
    assert decision.action == "refused"


def test_a_cell_that_lost_its_baseline_is_still_anchored(store):
    set_anchor(store.root, "v0.1.0")
    (store.root / BOX / "llama-tiny" / "eagle3-k3.json").unlink()
    [decision] = store.update([timed(factor=0.8)], request("new"))
    assert decision.action == "refused"


def test_a_gain_is_never_refused(store):
    set_anchor(store.root, "v0.1.0")
    [decision] = store.update([timed(factor=1.5)], request())
    assert decision.action == "written"


def test_other_prompts_are_not_compared_with_the_anchor(store):
    set_anchor(store.root, "v0.1.0")
    [decision] = store.update([timed(factor=0.5, workload_hash="ef" * 32)], request())
    assert decision.action == "refused"
    assert "worse since" not in decision.reason


def test_an_anchor_stays_unless_it_is_moved(store):
    set_anchor(store.root, "v0.1.0")
    with pytest.raises(BaselineError, match=r"the anchor v0\.1\.0 stands already; .*--move"):
        set_anchor(store.root, "v0.2.0")
    set_anchor(store.root, "v0.2.0", move=True)
    assert '"reason": "v0.2.0"' in anchored_path(store).read_text()


def test_a_limit_written_into_the_anchor_counts_and_survives_a_move(store):
    set_anchor(store.root, "v0.1.0")
    data = json.loads(anchored_path(store).read_text())
    data["cells"]["gsm8k/bs8"]["limits"] = {"output_throughput": 0.01}
    anchored_path(store).write_text(json.dumps(data))
    set_anchor(store.root, "v0.2.0", move=True)
    [decision] = store.update([timed(factor=STEP)], request())
    assert decision.action == "refused"
    data = json.loads(anchored_path(store).read_text())
    assert data["cells"]["gsm8k/bs8"]["limits"] == {"output_throughput": 0.01}


@pytest.mark.parametrize("machine", ["", "other-box"])
def test_nothing_to_anchor_is_said(tmp_path, store, machine):
    root = store.root if machine else tmp_path / "empty"
    with pytest.raises(BaselineError, match="no timed baseline"):
        set_anchor(root, "v0.1.0", machine)
