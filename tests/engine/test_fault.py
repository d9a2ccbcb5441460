"""Faults as data, and planting them; `test_real_faults.py` plants them in real engines."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from pydantic import ValidationError

import draftgate.engine.planting
from draftgate.engine.errors import SpecError
from draftgate.engine.fault import FAULT_KINDS, Fault
from draftgate.engine.planting import plant, planted_spec
from draftgate.engine.spec import EngineSpec

if TYPE_CHECKING:
    from draftgate.engine.compat import VllmEngine

NGRAM: dict[str, Any] = {"method": "ngram", "num_speculative_tokens": 3}
EAGLE: dict[str, Any] = {"method": "eagle", "model": "/head", "num_speculative_tokens": 3}


def fault(kind: str, size: float = 0.5) -> Fault:
    return Fault.model_validate({"kind": kind, "size": size})


@pytest.mark.parametrize(("size", "planted"), [(0.5, 2), (0.1, 1), (2.0, 6)])
def test_k_is_changed_and_the_rest_stays(size: float, planted: int) -> None:
    spec = EngineSpec(model="/m", speculative_config=NGRAM, fault=fault("k", size))
    with planted_spec(spec) as changed:
        assert changed.k == planted
        assert changed.model_copy(update={"speculative_config": NGRAM}) == spec


def test_k_that_rounding_leaves_alone_is_refused() -> None:
    spec = EngineSpec(model="/m", speculative_config=NGRAM, fault=fault("k", 0.9))
    with pytest.raises(SpecError, match="it leaves k=3 as it is"), planted_spec(spec):
        pass


@pytest.mark.parametrize("kind", FAULT_KINDS)
def test_what_an_engine_does_not_have_cannot_go_wrong(kind: str) -> None:
    control = EngineSpec(model="/m", fault=fault(kind))
    if control.fault is not None and control.fault.concerns(None):
        with planted_spec(control) as changed:
            assert changed == control
        return
    with pytest.raises(SpecError, match="nothing of the kind"), planted_spec(control):
        pass
    assert fault(kind).concerns(EAGLE)


def test_without_a_fault_the_spec_stays() -> None:
    spec = EngineSpec(model="/m", speculative_config=NGRAM)
    with planted_spec(spec) as changed:
        assert changed == spec


@pytest.mark.parametrize(("limit", "cut"), [(100, 50), (1, 1)])
def test_an_early_stop_cuts_the_limit(limit: int, cut: int) -> None:
    assert fault("early-stop").max_tokens(limit) == cut
    assert fault("sleep").max_tokens(limit) == limit


@pytest.mark.parametrize(
    ("kind", "size"), [("k", 1), ("early-stop", 1), ("sleep", 0), ("sleep", float("inf"))]
)
def test_sizes_that_mean_nothing_are_refused(kind: str, size: float) -> None:
    with pytest.raises(ValidationError):
        fault(kind, size)


def test_a_head_without_weights_cannot_get_noise(tmp_path: Path) -> None:
    config = {**EAGLE, "model": str(tmp_path)}
    spec = EngineSpec(model="/m", speculative_config=config, fault=fault("noisy-head"))
    with pytest.raises(SpecError, match=r"no folder with \*\.safetensors"), planted_spec(spec):
        pass


@dataclass
class Metadata:
    """What a proposer advances in place as it drafts."""

    lengths: list[int]


class Wrappable:
    """The part of an engine that planting reaches for."""

    def __init__(self) -> None:
        self.proposed: list[list[int]] = []
        self.steps = 0

    def propose(self, hidden: str, metadata: Metadata) -> int:
        metadata.lengths[0] += 1
        self.proposed.append(list(metadata.lengths))
        return metadata.lengths[0]

    def step(self) -> int:
        self.steps += 1
        return self.steps

    def wrap_proposer(self, wrap: Callable[..., Any]) -> None:
        self.propose = wrap(self.propose)  # type: ignore[method-assign]

    def wrap_steps(self, wrap: Callable[..., Any]) -> None:
        self.step = wrap(self.step)  # type: ignore[method-assign]


def test_drafting_twice_leaves_the_drafts_as_they_are() -> None:
    engine, metadata = Wrappable(), Metadata([7])
    plant(cast("VllmEngine", engine), fault("drafter-twice"))
    assert engine.propose("h", metadata=metadata) == 8
    assert metadata.lengths == [8]
    assert engine.proposed == [[8], [8]]


def test_a_slow_step_lasts_longer_by_its_share_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()  # what looks at it takes one tick
    monkeypatch.setattr(draftgate.engine.planting.time, "perf_counter", lambda: next(clock))
    engine = Wrappable()
    step = engine.step

    def long_step() -> int:
        for _ in range(999):
            next(clock)
        return step()

    engine.step = long_step  # type: ignore[method-assign]
    plant(cast("VllmEngine", engine), Fault(kind="sleep", size=0.25))
    assert [engine.step(), engine.step()] == [1, 2]
    assert 2 * 1250 <= next(clock) < 2 * 1260


def test_no_fault_wraps_nothing() -> None:
    engine = Wrappable()
    plant(cast("VllmEngine", engine), None)
    assert engine.step.__func__ is Wrappable.step  # type: ignore[attr-defined]
