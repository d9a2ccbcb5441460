"""Draft trees: what is accepted, the best shape, and their price."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_examples import DEPTH, TOP, plausible, recordings

from draftgate.analysis.cost_models import H100_LLAMA31_8B, H100_LLAMA31_8B_BY_K
from draftgate.analysis.draft_ranks import DraftRanks, lines_of, read_ranks
from draftgate.analysis.errors import CostModelError, PolicyError, TraceError
from draftgate.analysis.policies import Fixed
from draftgate.analysis.positions import single
from draftgate.analysis.simulate import Setup, speedups
from draftgate.analysis.tree import Tree, best, chain, emitted, full, parse_tree
from draftgate.analysis.tree_cost import tokens_per_step, tree_records
from draftgate.cli.main import run

PATHS = st.lists(st.integers(0, TOP - 1), min_size=1, max_size=DEPTH).map(tuple)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Any set of paths with their parents."""
    drawn = draw(st.lists(PATHS, min_size=1, max_size=6))
    nodes = {path[:length] for path in drawn for length in range(1, len(path) + 1)}
    return Tree("drawn", tuple(sorted(nodes, key=lambda path: (len(path), path))))


def accepted(ranks: DraftRanks, tree: Tree) -> int:
    return sum(int(emitted(tree, r.ranks[1:]).sum()) for r in ranks.requests)


@given(recordings(), trees())
def test_the_longest_path_in_the_tree_is_emitted(ranks: DraftRanks, tree: Tree) -> None:
    for request in ranks.requests:
        wanted = []
        for row in request.ranks.tolist():
            lengths = [n for n in range(DEPTH + 1) if n == 0 or tuple(row[:n]) in tree.paths]
            wanted.append(1 + max(lengths))
        assert emitted(tree, request.ranks).tolist() == wanted


@given(recordings(), trees())
def test_no_tree_of_its_size_accepts_more_than_the_best(ranks: DraftRanks, tree: Tree) -> None:
    try:
        chosen = best(ranks, tree.nodes)
    except PolicyError:  # a head without a hit
        assert accepted(ranks, tree) == sum(len(r.ranks) - 1 for r in ranks.requests)
        return
    assert accepted(ranks, chosen) >= accepted(ranks, tree)
    assert all(path[:-1] in ((), *chosen.paths) for path in chosen.paths)


@given(recordings(), st.integers(1, DEPTH), st.sampled_from([1, 16, 128]))
def test_a_chain_is_priced_as_the_simulator_prices_that_k(
    ranks: DraftRanks, k: int, size: int
) -> None:
    hits = [np.logical_and.accumulate(r.ranks[:, :k] == 0, axis=1).sum(1) for r in ranks.requests]
    positions = single([1 + h for h in hits], [r.prompt_tokens for r in ranks.requests], lag=False)
    setup = Setup(cost=H100_LLAMA31_8B_BY_K, batch_sizes=(size,))
    [record] = tree_records(ranks, chain(k), H100_LLAMA31_8B_BY_K, (size,))
    wanted = speedups(positions, "eagle3", Fixed(k), setup, k)[0]
    assert record["speedup"] == pytest.approx(wanted, abs=1e-4)


def test_trees_gain_alone_and_lose_in_large_batches() -> None:
    """The study's finding (its figure 2)."""
    ranks = plausible()
    found = {
        (record["tree"], record["batch_size"]): record["speedup"]
        for tree in (chain(3), best(ranks, 6), best(ranks, 21))
        for record in tree_records(ranks, tree, H100_LLAMA31_8B, (1, 128))
    }
    assert found["best:21", 1] > found["chain:3", 1]
    assert found["best:21", 128] < 1 < found["chain:3", 128]
    assert found["best:21", 128] < found["best:6", 128] < found["chain:3", 128]


def test_a_level_costs_one_pass_however_wide() -> None:
    ranks = plausible(requests=3)
    wide = tree_records(ranks, full((4, 4)), H100_LLAMA31_8B_BY_K, (1,))[0]
    assert (wide["nodes"], wide["depth"]) == (20, 2)
    cheap = tree_records(ranks, full((4, 4)), H100_LLAMA31_8B, (1,))[0]
    # The fitted cost is that of 3 passes; two levels take two.
    assert wide["speedup"] > cheap["speedup"]


def test_more_nodes_accept_more() -> None:
    ranks = plausible(requests=5)
    lengths = [tokens_per_step(ranks, best(ranks, nodes)) for nodes in (1, 3, 9, 27)]
    assert lengths == sorted(lengths)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("star:3", "chain:K, full:WIDTHxWIDTH"),
        ("chain:0", "write chain:K"),
        ("chain:2x2", "write chain:K"),
        ("chain:7", "7 deep and 1 wide; plausible recorded 6 steps and 8 ranks"),
        ("full:9", "1 deep and 9 wide"),
        ("full:90x90x90", "more than 4096 nodes"),
        ("best:99999", "write chain:K"),
    ],
)
def test_an_impossible_tree_is_refused(text: str, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        parse_tree(text, plausible(requests=1, tokens=4))


def test_a_head_without_a_cost_is_named() -> None:
    unknown = DraftRanks("x", "medusa", 8, plausible(requests=1).requests)
    with pytest.raises(CostModelError, match="no draft cost for 'medusa'"):
        tree_records(unknown, chain(1), H100_LLAMA31_8B, (1,))


@given(recordings())
def test_a_recording_reads_back(tmp_path_factory, ranks: DraftRanks) -> None:
    path = tmp_path_factory.mktemp("ranks") / "drawn.jsonl"
    path.write_text("".join(lines_of(ranks)))
    read = read_ranks(path)
    assert (read.name, read.head, read.top, read.depth) == ("drawn", "eagle3", TOP, DEPTH)
    for mine, other in zip(read.requests, ranks.requests, strict=True):
        assert (mine.request_id, mine.prompt_tokens) == (other.request_id, other.prompt_tokens)
        assert np.array_equal(mine.ranks, other.ranks)


GOOD = {"id": "a", "head": "eagle3", "top": 2, "prompt_tokens": 3, "ranks": [[-1, -1], [0, 1]]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"ranks": None}, "line 2: ranks is not a list of rows"),
        ({"ranks": []}, "line 2: ranks is not a list of rows"),
        ({"ranks": [[0], [0, 1]]}, "line 2: ranks has rows of different lengths"),
        ({"ranks": [[0, 2]]}, r"line 2: ranks holds a rank outside -1 \.\. 1"),
        ({"ranks": [[0, 0.5]]}, "line 2: ranks holds something else than integers"),
        ({"ranks": [[0, 10**30]]}, "line 2: ranks holds a rank outside"),
        ({"top": 0}, "line 2: top is not a whole number"),
        ({"top": 3}, "line 2: head, top or depth differ from line 1"),
        ({"ranks": [[0]]}, "line 2: head, top or depth differ from line 1"),
        ({"head": 7}, "line 2: head is not a name"),
        ({"prompt_tokens": True}, "line 2: prompt_tokens is not a whole number"),
    ],
)
def test_a_bad_recording_is_named_by_line(write_lines, changes, said: str) -> None:
    path = write_lines(GOOD, {**GOOD, **changes})
    with pytest.raises(TraceError, match=said):
        read_ranks(path)


def test_a_missing_key_is_named(write_lines) -> None:
    path = write_lines({key: value for key, value in GOOD.items() if key != "top"})
    with pytest.raises(TraceError, match="line 1: top is missing"):
        read_ranks(path)


@pytest.mark.parametrize("name", ["cell.json", ""])
def test_a_run_is_told_how_its_ranks_are_recorded(tmp_path, name: str) -> None:
    with pytest.raises(TraceError, match=r"keep no ranks; .* benchmarks/draft_ranks.py"):
        read_ranks(tmp_path / name)


def test_the_command_prints_flat_records(tmp_path, capsys) -> None:
    path = tmp_path / "ranks.jsonl"
    path.write_text("".join(lines_of(plausible(requests=2, tokens=30))))
    assert run(["tree", str(path), "--trees", "chain:2,best:5", "--format", "json"]) == 0
    captured = capsys.readouterr()
    records = json.loads(captured.out)
    assert captured.err == ""
    assert [r["batch_size"] for r in records] == [1, 16, 64, 128] * 2
    assert list(records[0]) == [
        "trace", "head", "tree", "nodes", "depth", "batch_size", "tokens_per_step", "speedup",
    ]  # fmt: skip
    assert run(["tree", str(path), "--trees", "chain:99"]) == 1
    assert "99 deep" in capsys.readouterr().err
