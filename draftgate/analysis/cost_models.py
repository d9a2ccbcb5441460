"""The built-in cost models, and reading one from a file."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from draftgate.analysis.cost import CostModel, DraftCost, TargetCost
from draftgate.analysis.errors import CostModelError

H100_LLAMA31_8B = CostModel(
    name="h100-llama3.1-8b",
    target=TargetCost(
        per_kv_token_s=3.92645679e-08, per_batched_token_s=2.10103129e-05, fixed_s=5.88590713e-03
    ),
    overhead_s=1.20683946e-03,
    drafts={
        "ngram": DraftCost(verification_share=0.005875),
        "eagle3": DraftCost(
            per_kv_token_s=2.37768493e-09, per_token_s=8.41429603e-07, fixed_s=2.13526175e-03
        ),
    },
)
"""The paper's constants: Llama-3.1-8B on one H100, fitted by its authors."""

_FITTED_PASSES = 3


def _by_passes(cost: DraftCost) -> DraftCost:
    """The same cost at the k it was fitted at, and proportional to k elsewhere."""
    return replace(cost, fixed_s=0.0, per_pass_s=cost.fixed_s / _FITTED_PASSES)


H100_LLAMA31_8B_BY_K = replace(
    H100_LLAMA31_8B,
    name="h100-llama3.1-8b-by-k",
    drafts={
        **H100_LLAMA31_8B.drafts,
        "eagle3": _by_passes(H100_LLAMA31_8B.drafts["eagle3"]),
    },
)
"""The same with EAGLE's draft time proportional to k: the paper's does not depend on k, which
flatters large k."""

BUILT_IN: Mapping[str, CostModel] = {
    model.name: model for model in (H100_LLAMA31_8B, H100_LLAMA31_8B_BY_K)
}


def load_cost_model(name_or_path: str) -> CostModel:
    """A built-in model by name, or one from a JSON file with the fields of `CostModel`.

    Raises CostModelError: unknown name, unreadable file, missing, unknown or non-finite values.
    """
    if name_or_path in BUILT_IN:
        return BUILT_IN[name_or_path]
    path = Path(name_or_path)
    if not path.is_file():
        raise CostModelError(
            f"no cost model {name_or_path!r}; built in are {', '.join(BUILT_IN)}, "
            "anything else is a path of a JSON file"
        )
    try:
        data = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise CostModelError(f"{path}: not JSON ({error})") from None
    return _model(path, _object(path, "the file", data))


def _model(path: Path, data: dict[str, Any]) -> CostModel:
    wanted = {field.name for field in fields(CostModel)}
    _require_keys(path, "cost model", data, required=wanted, allowed=wanted)
    target = _object(path, "target", data["target"])
    names = {field.name for field in fields(TargetCost)}
    _require_keys(path, "target", target, required=names, allowed=names)
    drafts = _object(path, "drafts", data["drafts"])
    return CostModel(
        name=str(data["name"]),
        target=TargetCost(**_seconds(path, "target", target)),
        overhead_s=_seconds(path, "cost model", {"overhead_s": data["overhead_s"]})["overhead_s"],
        drafts={key: _draft(path, f"drafts.{key}", value) for key, value in drafts.items()},
    )


def _draft(path: Path, where: str, value: Any) -> DraftCost:
    data = _object(path, where, value)
    _require_keys(path, where, data, set(), {field.name for field in fields(DraftCost)})
    return DraftCost(**_seconds(path, where, data))


def _object(path: Path, where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CostModelError(f"{path}: {where} is not an object")
    return value


def _require_keys(
    path: Path, where: str, data: dict[str, Any], required: set[str], allowed: set[str]
) -> None:
    wrong = sorted(required - data.keys()) or sorted(data.keys() - allowed)
    if wrong:
        state = "is missing from" if required - data.keys() else "is unknown in"
        raise CostModelError(
            f"{path}: key {wrong[0]!r} {state} {where}; it has {', '.join(sorted(allowed))}"
        )


def _seconds(path: Path, where: str, data: dict[str, Any]) -> dict[str, float]:
    for key, value in data.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not (number and math.isfinite(value) and value >= 0):
            raise CostModelError(f"{path}: {where}.{key} is not a finite number of at least 0")
    return {key: float(value) for key, value in data.items()}
