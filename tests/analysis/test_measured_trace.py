"""Cells of our own results as traces."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from draftgate.analysis.choices import Batches
from draftgate.analysis.cost import CostModel, DraftCost, TargetCost
from draftgate.analysis.errors import TraceError
from draftgate.analysis.open_trace import open_trace, trace_paths
from draftgate.analysis.policies import Fixed, Oracle
from draftgate.analysis.positions import single
from draftgate.analysis.simulate import Setup, simulate
from draftgate.analysis.walk import walk_memoryless
from draftgate.cli.main import run
from draftgate.engine.records import RequestRecord, RoundRecord, SpecCounters
from draftgate.measure.record import Machine, Measurement, Provenance, Subject


def write(path, *, k: int, prompt: tuple[int, ...] = ()) -> Measurement:
    request = RequestRecord(
        prompt_id="p0",
        prompt_tokens=9,
        prompt_token_ids=prompt,
        output_token_ids=tuple(range(10)),
        finish_reason="stop",
        ttft_s=0.1,
        e2e_s=1.0,
        emitted=(1, 3, 1, 4, 1) if k else (1,) * 10,
        drafted=(3, 3, 3, 3) if k else (),
        accepted=(2, 0, 3, 0) if k else (),
    )
    counters = SpecCounters(drafts=4, draft_tokens=12, accepted_tokens=5, per_position=(2, 2, 1))
    measured = RoundRecord(
        batch_size=1, wall_s=1.0, steps=5, requests=(request,), counters=counters if k else None
    )
    scenario = f"llama-tiny/{'eagle3-k3' if k else 'none'}"
    Measurement.build(
        subject=Subject(
            cell=f"{scenario}/gsm8k/bs1",
            scenario=scenario,
            workload="gsm8k",
            workload_hash="ab" * 32,
            batch_size=1,
            k=k,
            model_id="testbed:llama-tiny",
        ),
        rounds=[measured],
        control_rounds=[],
        machine=Machine(key="box", isa_class="x86-avx2"),
        provenance=Provenance(vllm="0", torch="0", draftgate="0", python="3"),
        started=datetime(2026, 7, 1, tzinfo=UTC),
        ended=datetime(2026, 7, 1, tzinfo=UTC),
    ).write(path)


def test_how_often_rejected_drafts_were_made_is_in_the_record(tmp_path) -> None:
    """Steps 2 and 4 emit one token, both after drafts."""
    write(tmp_path / "cell.json", k=3)
    assert open_trace(tmp_path / "cell.json").match_probability == 1
    write(tmp_path / "control.json", k=0)
    assert open_trace(tmp_path / "control.json").match_probability == 0


def test_a_run_s_folder_stands_for_its_cells(tmp_path, capsys) -> None:
    (tmp_path / "cells").mkdir()
    (tmp_path / "run.json").write_text("{}")
    write(tmp_path / "cells" / "b.json", k=3)
    write(tmp_path / "cells" / "a.json", k=0)
    assert [path.name for path in trace_paths([tmp_path])] == ["a.json", "b.json"]
    assert run(["simulate", str(tmp_path), "--batch-sizes", "1", "--format", "json"]) == 0
    records = json.loads(capsys.readouterr().out)
    assert [(r["proposer"], r["policy"]) for r in records] == [
        ("eagle3", "fixed:1"),
        ("eagle3", "fixed:3"),
        ("eagle3", "oracle"),
    ]
    assert run(["simulate", str(tmp_path / "cells" / "a.json")]) == 1
    assert "no trace holds such drafts" in capsys.readouterr().err
    wanted = ["simulate", str(tmp_path), "--policy", "oracle", "--format", "json"]
    assert run([*wanted, "--proposer", "ngram,eagle3"]) == 0
    assert {r["proposer"] for r in json.loads(capsys.readouterr().out)} == {"eagle3"}
    assert run([*wanted, "--proposer", "combine"]) == 1
    assert "no trace holds such drafts" in capsys.readouterr().err
    assert trace_paths([tmp_path / "cells"]) == trace_paths([tmp_path])
    (tmp_path / "empty").mkdir()
    assert run(["simulate", str(tmp_path / "empty")]) == 1
    assert "has no cells/*.json; give a run's folder" in capsys.readouterr().err


def test_the_recorded_path_comes_back(tmp_path) -> None:
    write(tmp_path / "cell.json", k=3)
    trace = open_trace(tmp_path / "cell.json")
    assert (trace.name, trace.cap) == ("llama-tiny/eagle3-k3/gsm8k/bs1", 3)
    assert not trace.prompts_known
    entries = trace.acceptance_of("eagle3")
    assert entries[0].tolist() == [1, 3, 2, 1, 1, 4, 3, 2, 1, 1]
    found = single(entries, [9], lag=False)
    for policy in (Fixed(3), Oracle()):
        walk = walk_memoryless(found, policy)
        assert found.gain[walk.position].tolist() == [3, 1, 4, 1]


def test_simulated_the_recorded_k_takes_the_steps_that_were_taken(tmp_path) -> None:
    """In the paper's batches as well, which read its traces one entry early."""
    write(tmp_path / "cell.json", k=3)
    trace = open_trace(tmp_path / "cell.json")
    costs = CostModel(  # a step costs 1, so that the speed-up is tokens per step
        "steps", TargetCost(per_kv_token_s=0.0, per_batched_token_s=0.0, fixed_s=1.0), 0.0,
        {"eagle3": DraftCost()},
    )  # fmt: skip
    for batches in Batches:
        setup = Setup(cost=costs, batch_sizes=(1,), batches=batches)
        [record] = simulate(trace, "eagle3", [Fixed(3)], setup)
        assert record["speedup"] == pytest.approx((1 + 9) / (1 + 4), rel=1e-3)


def test_the_control_has_tokens_and_no_acceptance(tmp_path) -> None:
    write(tmp_path / "cell.json", k=0)
    trace = open_trace(tmp_path / "cell.json")
    assert trace.requests[0].output_ids.tolist() == list(range(10))
    assert trace.requests[0].acceptance == {}


def test_prompts_are_known_where_the_record_keeps_them(tmp_path) -> None:
    write(tmp_path / "cell.json", k=3, prompt=tuple(range(9)))
    trace = open_trace(tmp_path / "cell.json")
    assert trace.prompts_known
    assert trace.requests[0].prompt_ids.tolist() == list(range(9))


def test_a_damaged_cell_is_refused(tmp_path) -> None:
    (tmp_path / "cell.json").write_text("{}")
    with pytest.raises(TraceError, match="not a draftgate measurement"):
        open_trace(tmp_path / "cell.json")
