"""Cost models: built in, from a file, and refused."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from draftgate.analysis.cost_models import BUILT_IN, H100_LLAMA31_8B, load_cost_model
from draftgate.analysis.errors import CostModelError


def written(path, **changes):
    data = json.loads(json.dumps(asdict(H100_LLAMA31_8B))) | changes
    data = {key: value for key, value in data.items() if value is not None}
    path.write_text(json.dumps(data))
    return str(path)


def test_built_in_models_go_through_a_file_unchanged(tmp_path) -> None:
    path = tmp_path / "model.json"
    for name, model in BUILT_IN.items():
        assert load_cost_model(name) is model
        path.write_text(json.dumps(asdict(model)))
        assert load_cost_model(str(path)) == model


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": None}, "'target' is missing"),
        ({"colour": "red"}, "'colour' is unknown"),
        ({"target": {"fixed_s": 1}}, "'per_batched_token_s' is missing from target"),
        ({"overhead_s": -1}, "overhead_s is not a finite number"),
        ({"overhead_s": float("inf")}, "overhead_s is not a finite number"),
        ({"drafts": {"mtp": {"fixed_s": True}}}, "drafts.mtp.fixed_s is not a finite number"),
        ({"drafts": {"mtp": {"speed": 1}}}, "'speed' is unknown in drafts.mtp"),
        ({"drafts": []}, "drafts is not an object"),
    ],
)
def test_a_bad_file_names_the_key(tmp_path, changes, message) -> None:
    with pytest.raises(CostModelError, match=message):
        load_cost_model(written(tmp_path / "model.json", **changes))


def test_unknown_names_list_the_built_in_ones(tmp_path) -> None:
    with pytest.raises(
        CostModelError, match=r"no cost model 'b200'; built in are h100-llama3.1-8b"
    ):
        load_cost_model("b200")
    (tmp_path / "model.json").write_text("{")
    with pytest.raises(CostModelError, match="not JSON"):
        load_cost_model(str(tmp_path / "model.json"))
