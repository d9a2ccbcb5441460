"""The fit finds the constants that made the times, and forgives steps that went astray."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftgate.analysis.cost import CostModel, DraftCost, TargetCost
from draftgate.analysis.cost_models import load_cost_model
from draftgate.analysis.errors import CostModelError
from draftgate.analysis.fit_cost import (
    StagedCell,
    fit_cost_model,
    measured_step_s,
    predicted_round_s,
    predicted_step_s,
)
from draftgate.engine.records import StageSteps

TRUE = CostModel(
    name="true",
    target=TargetCost(per_kv_token_s=2e-7, per_batched_token_s=8e-5, fixed_s=2e-3),
    overhead_s=9e-4,
    drafts={
        "eagle3": DraftCost(per_token_s=2e-5, per_pass_s=4e-4, fixed_s=1e-4),
        "ngram": DraftCost(per_token_s=1e-5, fixed_s=5e-5),
    },
)


def cell(
    proposer: str | None,
    k: int,
    batch_size: int,
    model: CostModel = TRUE,
    steps: int = 40,
    noise: float = 0.0,
    astray: int = 0,
    seed: int = 0,
) -> StagedCell:
    """A cell whose steps cost what ``model`` says; ``astray`` of them three times as much."""
    luck = np.random.default_rng(seed)
    batched = np.full(steps, float(batch_size * (k + 1)))
    kv = batch_size * (30.0 + np.arange(steps) * (1 + k / 2))
    ones = np.ones(steps)
    factor = np.exp(luck.normal(0, noise, steps))
    factor[luck.permutation(steps)[:astray]] *= 3
    verify = model.verify_seconds(ones, kv, batched)
    draft = np.zeros(steps)
    if proposer:
        draft = model.draft_seconds(proposer, ones, kv, batched, k * ones, verify) * factor
    verify = verify * factor
    overhead = model.overhead_s * factor

    def ms(seconds) -> tuple[float, ...]:
        return tuple(1000 * seconds)

    columns = StageSteps(
        clock="host",
        requests=(batch_size,) * steps,
        batched_tokens=tuple(int(b) for b in batched),
        prefill_tokens=(0,) * steps,
        kv_tokens=tuple(int(c) for c in kv),
        drafted_tokens=(batch_size * k,) * steps,
        step_ms=ms(verify + draft + overhead),
        draft_ms=ms(draft),
        verify_ms=ms(verify * 0.9),
        sample_ms=ms(verify * 0.1),
        overhead_ms=ms(overhead),
        scopes_ms={},
    )
    return StagedCell(f"{proposer}-k{k}/bs{batch_size}", proposer, k, columns)


ARMS = [(None, 0), ("eagle3", 1), ("eagle3", 3), ("eagle3", 5), ("ngram", 3)]


def cells(sizes=(1, 4, 16), **options) -> list[StagedCell]:
    return [cell(*arm, size, **options) for arm in ARMS for size in sizes]


def test_constants_without_noise_are_found_again():
    found = fit_cost_model("fit", cells()).model
    assert found.overhead_s == pytest.approx(TRUE.overhead_s, rel=1e-3)
    assert asdict(found.target) == pytest.approx(asdict(TRUE.target), rel=0.02)
    assert found.drafts["eagle3"].per_pass_s == pytest.approx(4e-4, rel=0.02)


def test_a_held_out_batch_size_is_predicted():
    fit = fit_cost_model("fit", cells(sizes=(1, 4, 32), noise=0.03))
    for arm in ARMS:
        held_out = cell(*arm, 16)
        error = predicted_step_s(fit.model, held_out) / measured_step_s(held_out) - 1
        assert abs(error) < 0.03
    assert 0.01 < fit.residuals["verify"].median < 0.04


def test_a_round_is_predicted_in_whole_but_for_steps_that_read_prompts():
    plain = cell("eagle3", 3, 4)
    prefill = (1, *plain.steps.prefill_tokens[1:])
    reading = replace(plain, steps=plain.steps.model_copy(update={"prefill_tokens": prefill}))
    whole = sum(plain.steps.step_ms) / 1000
    assert predicted_round_s(TRUE, plain) == pytest.approx(whole)
    slower = replace(TRUE, overhead_s=TRUE.overhead_s + 1)
    assert predicted_round_s(slower, reading) == pytest.approx(whole + 39, rel=1e-3)


def test_a_cell_of_two_rounds_takes_as_long_as_one_of_them():
    one = cell("eagle3", 3, 4)
    two = replace(one, steps=StageSteps.joined([one.steps, one.steps]), rounds=2)
    assert predicted_round_s(TRUE, two) == pytest.approx(predicted_round_s(TRUE, one))


seconds = st.floats(1e-6, 1e-2)


@settings(max_examples=25, deadline=None)
@given(seconds, seconds, seconds, st.integers(0, 5), st.integers(0, 99))
def test_some_steps_astray_change_little(fixed, per_token, overhead, astray, seed):
    true = CostModel(
        "t",
        TargetCost(per_kv_token_s=1e-7, per_batched_token_s=per_token, fixed_s=fixed),
        overhead,
        TRUE.drafts,
    )
    options = {"model": true, "noise": 0.02, "seed": seed}
    model = fit_cost_model("fit", cells(astray=astray, **options)).model
    constants = [*asdict(model.target).values(), model.overhead_s]
    assert all(np.isfinite(value) and value >= 0 for value in constants)
    for arm in ARMS:
        held_out = cell(*arm, 8, model=true)
        assert predicted_step_s(model, held_out) == pytest.approx(
            measured_step_s(held_out), rel=0.1
        )


def test_with_one_k_a_model_s_drafts_cost_by_pass_and_a_lookup_does_not():
    drafts = fit_cost_model("fit", [cell("eagle3", 3, 4), cell("ngram", 3, 4)]).model.drafts
    assert drafts["eagle3"].fixed_s == 0 < drafts["eagle3"].per_pass_s
    assert drafts["ngram"].per_pass_s == 0


def test_the_model_can_be_stored_and_loaded(tmp_path):
    model = fit_cost_model("fit", cells()).model
    path = tmp_path / "model.json"
    path.write_text(json.dumps(asdict(model)))
    assert load_cost_model(str(path)) == model


def test_too_few_steps_and_unknown_proposers_are_named():
    with pytest.raises(CostModelError, match="0 decode steps in all cells, at least 8"):
        fit_cost_model("fit", [])
    with pytest.raises(CostModelError, match=r"5 decode steps in cells of 'eagle3'.*stages = true"):
        fit_cost_model("fit", [cell(None, 0, 4), cell("eagle3", 3, 4, steps=5)])
    with pytest.raises(CostModelError, match="no draft cost for 'ngram'"):
        predicted_step_s(fit_cost_model("fit", [cell("eagle3", 3, 4)]).model, cell("ngram", 3, 4))
