"""Laws of the cells: unique, in order, each with its control."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from draftgate.profile import Profile, ProfileError, estimate_seconds, parse_profile, totals

NAMES = ("instructcoder", "cnn_dailymail", "sharegpt", "gsm8k", "aime", "gpqa")


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    """Valid profiles: each workload in one matrix row, variants restricted at will."""
    names = draw(st.permutations(NAMES).flatmap(lambda p: st.integers(1, 6).map(lambda n: p[:n])))
    sizes = st.lists(st.integers(1, 64), min_size=1, max_size=3, unique=True)
    restriction = st.none() | st.lists(st.sampled_from(names), min_size=1, unique=True)
    ks = draw(st.lists(st.integers(1, 9), max_size=3, unique=True))
    speculating: list[dict[str, Any]] = [
        {
            "name": f"ngram-k{k}",
            "speculative_config": {"method": "ngram", "num_speculative_tokens": k},
            "workloads": draw(restriction),
        }
        for k in ks
    ]
    variants = draw(st.permutations([{"name": "none"}, *speculating]))
    workloads = [
        {"name": n, "source": "mini", "prompts": draw(st.integers(1, 99)), "max_tokens": 9}
        for n in names
    ]
    prompts = st.none() | st.integers(1, 99)
    rows = [{"workloads": [n], "batch_sizes": draw(sizes), "prompts": draw(prompts)} for n in names]
    targets = [{"name": t, "model": "m", "variants": variants} for t in ("left", "right")]
    data = {"schema_version": 1, "name": "drawn", "workloads": workloads, "matrix": rows}
    return parse_profile({**data, "targets": targets}, "drawn.toml")


@given(profiles())
def test_ids_are_unique_and_stable(profile: Profile) -> None:
    cells = profile.cells()
    assert cells == profile.cells()
    assert len({cell.id for cell in cells}) == len(set(cells)) == len(cells)
    assert len({cell.test_id for cell in cells}) == len(cells)


@given(profiles())
def test_every_cell_has_its_control_in_the_profile(profile: Profile) -> None:
    cells = set(profile.cells())
    for cell in cells:
        assert cell.control in cells
        assert cell.control.scenario.variant.name == "none"
        assert cell.control.workload == cell.workload
        assert cell.control.control == cell.control


@given(profiles())
def test_order_is_by_target_workload_batch_size_control_first(profile: Profile) -> None:
    targets = [target.name for target in profile.targets]
    workloads = [spec.name for spec in profile.workloads]
    keys = [
        (
            targets.index(cell.scenario.target.name),
            workloads.index(cell.workload.name),
            cell.batch_size,
            not cell.scenario.is_control,
        )
        for cell in profile.cells()
    ]
    assert keys == sorted(keys)


@given(profiles())
def test_totals_add_up(profile: Profile) -> None:
    cells, sums = profile.cells(), totals(profile.plan, profile.cells())
    starts = len(profile.scenarios())
    timing = sum(estimate_seconds(profile.plan, cell) for cell in cells)
    assert (sums.cells, sums.engine_starts) == (len(cells), starts)
    assert sums.estimated_s == pytest.approx(timing + starts * profile.plan.estimate.engine_start_s)


def test_ids(small: dict[str, Any]) -> None:
    cell = parse_profile(small, "small.toml").cells()[1]
    assert cell.id == "tiny/ngram-k3/gsm8k/bs1"
    assert cell.test_id == "tiny-ngram-k3-gsm8k-bs1"
    assert cell.control.id == "tiny/none/gsm8k/bs1"
    assert (cell.scenario.arm, cell.control.scenario.arm) == ("ngram-k3", "control")
    assert (cell.scenario.variant.method, cell.scenario.variant.k) == ("ngram", 3)
    control = cell.control.scenario.variant
    assert (control.method, control.k) == ("none", 0)


def test_row_prompts_replace_the_workloads_own(small: dict[str, Any]) -> None:
    small["matrix"] = [
        {"workloads": ["gsm8k", "aime"], "batch_sizes": [8]},
        {"workloads": ["gsm8k"], "batch_sizes": [1], "prompts": 2},
    ]
    cells = parse_profile(small, "small.toml").cells()
    found = {(c.workload.name, c.batch_size): c.workload.prompts for c in cells}
    assert found == {("gsm8k", 1): 2, ("gsm8k", 8): 8, ("aime", 8): 8}


def test_restricted_variant_runs_only_there(small: dict[str, Any]) -> None:
    small["targets"][0]["variants"][1]["workloads"] = ["aime"]
    ids = [cell.id for cell in parse_profile(small, "small.toml").cells()]
    assert [i for i in ids if "ngram" in i] == ["tiny/ngram-k3/aime/bs1", "tiny/ngram-k3/aime/bs8"]


def test_matrix_row_for_one_target(small: dict[str, Any]) -> None:
    other = {**small["targets"][0], "name": "other", "engine_args": {"max_num_seqs": 64}}
    small["targets"].append(other)
    small["matrix"].append({"targets": ["other"], "workloads": ["aime"], "batch_sizes": [64]})
    profile = parse_profile(small, "small.toml")
    large = [cell.id for cell in profile.cells() if cell.batch_size == 64]
    assert large == ["other/none/aime/bs64", "other/ngram-k3/aime/bs64"]
    small["matrix"][1]["targets"] = ["tiny"]
    with pytest.raises(ProfileError, match="below the largest batch size"):
        parse_profile(small, "small.toml")


def test_estimate_follows_its_formula(small: dict[str, Any]) -> None:
    constants = {"step_ms": 10, "step_ms_per_sequence": 1, "output_fill": 0.5, "engine_start_s": 5}
    small["plan"] = {"rounds": 3, "warmup_max": 1, "estimate": constants}
    profile = parse_profile(small, "small.toml")
    one, drafted, eight, *_ = profile.cells()
    one_round = (8 / 1 * 16 * 0.5) * 11 / 1000
    assert estimate_seconds(profile.plan, one) == pytest.approx(3 * one_round)
    beside_its_control = 2 * 3 * one_round
    assert estimate_seconds(profile.plan, drafted) == pytest.approx(beside_its_control)
    assert estimate_seconds(profile.plan, replace(drafted, timed=False)) == pytest.approx(one_round)
    assert estimate_seconds(profile.plan, eight) == pytest.approx(
        3 * (8 / 8 * 16 * 0.5) * 18 / 1000
    )
    assert totals(profile.plan, [one, eight]).engine_starts == 1
