"""Measured cache bytes beside those of the models' configs."""

from __future__ import annotations

import pytest

from draftgate.engine.records import EngineMemory
from draftgate.plugin.memory import judge_memory
from draftgate.profile.load import parse_profile
from draftgate.verdict.kinds import VerdictKind

EAGLE3 = {"method": "eagle3", "model": "testbed:llama-tiny-eagle3", "num_speculative_tokens": 3}


def cells(**target):
    profile = {
        "schema_version": 1,
        "name": "small",
        "workloads": [{"name": "gsm8k", "source": "mini", "prompts": 1, "max_tokens": 8}],
        "matrix": [{"workloads": ["gsm8k"], "batch_sizes": [1]}],
        "targets": [
            {
                "name": "tiny",
                "model": "testbed:llama-tiny",
                "variants": [{"name": "none"}, {"name": "eagle3-k3", "speculative_config": EAGLE3}],
                **target,
            }
        ],
    }
    return {c.scenario.variant.name: c for c in parse_profile(profile, "small.toml").cells()}


def memory(bytes_per_token: int) -> EngineMemory:
    return EngineMemory(
        kv_cache_bytes=bytes_per_token * 4 * 16,
        kv_blocks=4,
        block_size=16,
        kv_cache_dtype="float32",
        weight_bytes=None,
        rss_bytes=1,
    )


@pytest.mark.parametrize(("variant", "expected"), [("none", 12288), ("eagle3-k3", 13824)])
def test_a_head_s_layer_counts(variant, expected):
    cell = cells()[variant]
    assert judge_memory(cell, memory(expected)).verdict is VerdictKind.OK
    wrong = judge_memory(cell, memory(expected + 4))
    assert wrong.verdict is VerdictKind.REGRESSED
    assert "by config.json: target 12288 B" in wrong.line()


def test_a_model_that_is_not_known_is_said_not_failed():
    verdict = judge_memory(cells(model="nobody/nothing")["none"], memory(64))
    assert verdict.verdict is VerdictKind.OK
    assert verdict.cause == "not compared: no config.json of nobody/nothing at hand"


def test_an_engine_that_reported_nothing_is_said(tmp_path):
    assert "did not report its memory" in judge_memory(cells()["none"], None).cause
