"""`draftgate fit-cost` as a shell sees it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_fit_cost import ARMS, cell

from draftgate.analysis.cost_models import load_cost_model
from draftgate.cli.main import run
from draftgate.measure.record import Measurement

EXAMPLE = Path(__file__).parents[1] / "measure" / "examples" / "measurement_with_stages.json"


def write_cell(folder: Path, target: str, proposer: str | None, k: int, size: int) -> None:
    """The example's measurement with other stage times, as a cell of its own."""
    measured = Measurement.read(EXAMPLE)
    block = measured.draftgate
    scenario = f"{target}/{proposer}-k{k}" if proposer else f"{target}/none"
    name = f"{scenario}/gsm8k/bs{size}"
    named = {"cell": name, "scenario": scenario, "k": k, "batch_size": size}
    subject = block.subject.model_copy(update=named)
    stages = block.stages.model_copy(update={"steps": cell(proposer, k, size).steps})
    block = block.model_copy(update={"subject": subject, "stages": stages})
    path = folder / "cells" / (name.replace("/", "-") + ".json")
    measured.model_copy(update={"draftgate": block}).write(path)


@pytest.fixture
def results(tmp_path) -> Path:
    for proposer, k in ARMS:
        for size in (1, 4):
            write_cell(tmp_path / "run", "tiny", proposer, k, size)
    return tmp_path / "run"


def test_it_writes_a_model_that_simulate_takes_and_prints_flat_records(results, tmp_path, capsys):
    out = tmp_path / "cost.json"
    assert run(["fit-cost", str(results), "-o", str(out), "--format", "json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    records = json.loads(captured.out)
    assert [r["fitted"] for r in records] == ["verify", "overhead", "draft eagle3", "draft ngram"]
    assert all(r["error_median"] < 0.01 for r in records)
    model = load_cost_model(str(out))
    assert model.name == "tiny"
    assert set(model.drafts) == {"eagle3", "ngram"}


def test_one_batch_size_is_told(results, capsys):
    files = [str(path) for path in (results / "cells").glob("*bs4.json")]
    assert run(["fit-cost", *files, "--format", "csv"]) == 0
    assert "one batch size" in capsys.readouterr().err


def test_cells_of_two_machines_are_no_model(results, capsys):
    path = next((results / "cells").glob("*bs4.json"))
    measured = Measurement.read(path)
    block = measured.draftgate
    other = block.model_copy(update={"machine": block.machine.model_copy(update={"key": "other"})})
    measured.model_copy(update={"draftgate": other}).write(path)
    assert run(["fit-cost", str(results)]) == 1
    assert "give runs of one" in capsys.readouterr().err


def test_files_of_cells_are_taken_as_well(results, capsys):
    files = [str(path) for path in sorted((results / "cells").glob("*.json"))]
    assert run(["fit-cost", *files, "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("fitted,steps,error_median,error_p90\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{tmp}"], "no cells/*.json in it"),
        (["{tmp}/gone.json"], "gone.json: No such file"),
        (["{run}", "--target", "huge"], "give --target, one of tiny"),
        (["{example}"], "4 decode steps in all cells, at least 8 are needed"),
        (["{run}", "-o", "/proc/none/cost.json"], "--out /proc/none/cost.json"),
    ],
)
def test_bad_input_is_one_message(results, tmp_path, capsys, arguments, said):
    places = {"tmp": tmp_path, "run": results, "example": EXAMPLE}
    assert run(["fit-cost", *(word.format(**places) for word in arguments)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err


def test_several_targets_need_a_choice(results, capsys):
    write_cell(results, "other", None, 0, 1)
    assert run(["fit-cost", str(results)]) == 1
    assert "give --target, one of other, tiny" in capsys.readouterr().err
    assert run(["fit-cost", str(results), "--target", "tiny"]) == 0
