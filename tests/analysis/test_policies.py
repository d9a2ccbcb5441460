"""Policies: their spelling and the k they choose."""

from __future__ import annotations

import pytest

from draftgate.analysis.errors import PolicyError
from draftgate.analysis.policies import (
    Adaptive,
    DynamicByBatch,
    Fixed,
    Oracle,
    Threshold,
    parse_policy,
)


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("fixed:3", Fixed(3)),
        ("oracle", Oracle()),
        ("adaptive", Adaptive()),
        ("threshold:0.4:7", Threshold(0.4, 7)),
        ("dynamic:8=5:32=3:128=0", DynamicByBatch(((8, 5), (32, 3), (128, 0)))),
    ],
)
def test_spelling_goes_both_ways(text, policy) -> None:
    assert parse_policy(text, cap=20) == policy
    assert str(policy) == text


def test_defaults_stay_within_the_cap() -> None:
    assert parse_policy("threshold:0.5", cap=20) == Threshold(0.5, 5)
    assert parse_policy("threshold:0.5", cap=3) == Threshold(0.5, 3)
    assert parse_policy("adaptive", cap=3) == Adaptive(start=3)


@pytest.mark.parametrize(
    "text",
    [
        "", "fixed", "fixed:", "fixed:0", "fixed:-1", "fixed:1.5", "fixed:21", "fixed:³",
        "fixed:" + "9" * 5000, "oracle:3", "adaptive:2", "threshold", "threshold:2",
        "threshold:nan", "threshold:0.5:0", "dynamic", "dynamic:8", "dynamic:8=", "dynamic:0=3",
        "dynamic:8=5:8=3", "dynamic:8=5:4=3", "dynamic:x=5", "magic",
    ],
)  # fmt: skip
def test_anything_else_is_refused(text) -> None:
    with pytest.raises(PolicyError, match="policy"):
        parse_policy(text, cap=20)


def test_k_by_batch_holds_beyond_the_last_range() -> None:
    dynamic = DynamicByBatch(((8, 5), (32, 3)))
    assert [dynamic.k_at(size) for size in (1, 8, 9, 32, 500)] == [5, 5, 3, 3, 3]


def test_dynamic_by_batch_equals_vllms_schedule() -> None:
    utils = pytest.importorskip("vllm.v1.spec_decode.dynamic.utils")
    lookup = utils.build_dynamic_sd_schedule_lookup([(1, 8, 5), (9, 32, 3), (33, 64, 0)], 100, 5)
    dynamic = DynamicByBatch(((8, 5), (32, 3), (64, 0)))
    assert [dynamic.k_at(size) for size in range(1, 101)] == lookup[1:]
