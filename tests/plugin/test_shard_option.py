"""``--shard i/n``: every cell in one shard, and a control wherever it is needed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_engines import FakeEngines
from small_project import Run

Load = Callable[[str], Any]


def test_shards_split_the_cells_and_start_only_their_engines(
    run: Run, engines: FakeEngines, load: Load
) -> None:
    cells, started = [], []
    for i in (1, 2, 3):
        before = len(engines.hosts)
        assert run(f"--shard={i}/3").ret == 0
        started.append({host.label for host in engines.hosts[before:]})
        facts = load(f"results/{i}/run.json")
        assert facts["shard"] == f"{i}/3"
        cells += facts["cells"]
    assert len(cells) == len(set(cells)) == 8
    assert all("tiny/none" in s for s in started if s & {"tiny/ngram-k3", "tiny/ngram-k2"})
    assert sum(len(labels) for labels in started) < 3 * 5


def test_tests_without_a_cell_run_in_every_shard(run: Run, project: Path) -> None:
    (project / "perf_tests" / "test_mine.py").write_text("def test_mine():\n    pass\n")
    assert "test_mine.py::test_mine PASSED" in run("--shard=2/2", "-v").stdout.str()


@pytest.mark.parametrize("shard", ["0/2", "3/2", "2", "a/b", "1/2/3", "-1/2"])
def test_a_shard_that_is_none_ends_the_run(run: Run, shard: str, engines: FakeEngines) -> None:
    result = run(f"--shard={shard}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --shard '{shard}': write i/n with 1 <= i <= n*"])
    assert not engines.hosts


def test_more_shards_than_scenarios_end_the_run(run: Run) -> None:
    result = run("--shard=1/6")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: profile small has 5 scenarios, too few for 6 shards*"])
